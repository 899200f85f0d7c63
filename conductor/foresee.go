package conductor

import (
	"context"
	"errors"
	"reflect"
	"time"

	"ferrule/conductor/runner"
	"ferrule/metal"
)

// errNeedsForesight says that the first entry taken needs inspection rules, which
// no transaction waits for.
var errNeedsForesight = errors.New("inspection rules have not run for this entry, or for another state of its node")

// foresight is what comes of an entry, as long as the world is as it was.
type foresight struct {
	world   runner.World
	entry   metal.InboxEntry
	outcome runner.Outcome
}

// holds reports whether nothing has changed since.
func (f *foresight) holds(w *runner.World, e metal.InboxEntry) bool {
	return f != nil && f.entry.ID == e.ID && f.world.AgentID == w.AgentID && f.world.Node.Version == w.Node.Version &&
		reflect.DeepEqual(f.world.Operations, w.Operations) && reflect.DeepEqual(f.world.Ports, w.Ports)
}

// rulesLimit is how long the rules and hooks of one inspection may take. Each
// match has a limit of its own, but a loop may ask for thousands.
const rulesLimit = 2 * time.Second

// question is whether a value is another's; see rules.Settings.
type question struct{ what, value string }

// mostRounds bounds how often the rules run: each time more is known of what they
// ask for.
const mostRounds = 20

// foresee handles an entry outside of any transaction. The runner reads nothing
// from the database: what it asks for and is not known yet is looked up after
// it, and then it runs again.
func (c *Conductor) foresee(ctx context.Context, nodeUUID string, e metal.InboxEntry) (f *foresight, err error) {
	defer c.recovered(ctx, nodeUUID, &err)
	node, err := c.Store.NodeByUUID(ctx, nodeUUID)
	if err != nil {
		return nil, goneOr(err)
	}
	f = &foresight{entry: e}
	if f.world, err = c.world(ctx, c.Store, node); err != nil {
		return nil, err
	}
	w := f.world
	if w.Rules, w.RulesError = c.inspectionRules(ctx); c.Store.Transient(w.RulesError) {
		return nil, w.RulesError
	}
	known := map[question]bool{}
	for range mostRounds {
		asked := map[question]bool{}
		w.Taken = func(what, value string) bool {
			q := question{what, value}
			if taken, ok := known[q]; ok {
				return taken
			}
			asked[q] = true
			return false
		}
		if f.outcome, err = c.runRules(ctx, w, e); err != nil {
			return nil, err
		}
		if len(asked) == 0 {
			break
		}
		for q := range asked {
			if known[q], err = c.taken(ctx, q, nodeUUID); err != nil {
				return nil, err
			}
		}
	}
	if c.rulesRan != nil {
		c.rulesRan()
	}
	return f, nil
}

func (c *Conductor) runRules(ctx context.Context, w runner.World, e metal.InboxEntry) (runner.Outcome, error) {
	limited, cancel := context.WithTimeout(ctx, rulesLimit)
	defer cancel()
	out, err := runner.Advance(limited, w, e)
	if ctx.Err() != nil {
		return out, ctx.Err() // the rules may have been cut short by it
	}
	return out, err
}
