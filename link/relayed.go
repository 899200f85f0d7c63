package link

import "context"

type (
	relayedFrom     struct{}
	inspectionProof struct{}
)

// RelayedFrom marks a request as passed on by an agent of a site, which so has
// shown that it is there, whatever the register says yet.
func RelayedFrom(ctx context.Context, site string) context.Context {
	return context.WithValue(ctx, relayedFrom{}, site)
}

// RelayingSite is the site of a relayed request; ok is false for any other one.
func RelayingSite(ctx context.Context) (site string, ok bool) {
	site, ok = ctx.Value(relayedFrom{}).(string)
	return site, ok
}

// WithInspectionProof adds the proof that came with relayed inspection data.
func WithInspectionProof(ctx context.Context, proof string) context.Context {
	return context.WithValue(ctx, inspectionProof{}, proof)
}

// InspectionProof is the proof that came with relayed inspection data; "" for
// none.
func InspectionProof(ctx context.Context) string {
	proof, _ := ctx.Value(inspectionProof{}).(string)
	return proof
}
