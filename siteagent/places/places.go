// Package places bounds the work that runs at once, so that work on machines
// that do not answer holds up no work on machines that do. It must not import
// anything of ours.
package places

import (
	"context"
	"sync"
	"time"
)

// Places has two equal pools: one for machines that answer, as far as is known,
// and one apart for those that are known to be silent.
type Places struct {
	answering chan struct{}
	silent    chan struct{}
	patience  time.Duration
}

// New makes pools of so many places each. Work on a machine that is not known to
// be silent gives its place up after patience, and goes on without one: what
// takes long mostly waits for the network. Without patience (0) it keeps it.
func New(most int, patience time.Duration) *Places {
	return &Places{answering: make(chan struct{}, most), silent: make(chan struct{}, most), patience: patience}
}

// Run does the work once there is a place for it. It reports false where ctx
// ended before that.
func (p *Places) Run(ctx context.Context, silent bool, work func()) bool {
	pool := p.answering
	if silent {
		pool = p.silent
	}
	select {
	case pool <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	leave := sync.OnceFunc(func() { <-pool })
	defer leave()
	if !silent && p.patience > 0 {
		slow := time.AfterFunc(p.patience, leave)
		defer slow.Stop()
	}
	work()
	return true
}
