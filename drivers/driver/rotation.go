package driver

import "context"

type nextKey struct{}

// WithNextCredentials carries the resolved new password of a rotation to the
// handler, beside the target's current one.
func WithNextCredentials(ctx context.Context, next Credentials) context.Context {
	return context.WithValue(ctx, nextKey{}, next)
}

func nextCredentials(ctx context.Context) (Credentials, bool) {
	c, ok := ctx.Value(nextKey{}).(Credentials)
	return c, ok
}
