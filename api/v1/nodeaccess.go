package v1

import (
	"context"
	"hash/fnv"
	"net/http"
	"slices"
	"time"

	"ferrule/link"
	"ferrule/metal"
	"ferrule/store"
)

// node finds the node that the path names, by the rules of the request's
// version, if the caller may do to it what the operation does.
func (s *Service) node(c *call, ident string) (metal.Node, error) {
	n, err := s.anyNode(c, ident)
	if err != nil {
		return n, err
	}
	return n, c.authorizeNode(&n, ident)
}

// anyNode finds a node whosever it is.
func (s *Service) anyNode(c *call, ident string) (metal.Node, error) {
	if err := checkNodeIdent(c, ident); err != nil {
		return metal.Node{}, err
	}
	ctx := c.Request().Context()
	find := s.store.Node
	if isUUIDLike(ident) { // which no name is
		find = s.store.NodeByUUID
	}
	n, err := find(ctx, ident)
	if err == nil && hidden(ctx, &n) {
		return metal.Node{}, nodeNotFound(ident)
	}
	return n, err
}

// nodeWithSuffix also tries the name with the ".json" that was cut off.
func (s *Service) nodeWithSuffix(c *call, ident string) (metal.Node, error) {
	n, err := s.node(c, ident)
	if err == nil || asFault(err).Status != http.StatusNotFound {
		return n, err
	}
	if arrivalOf(c).suffixCut {
		if n, again := s.node(c, ident+".json"); again == nil {
			return n, nil
		}
	}
	return n, err
}

// checkNodeIdent refuses names that the version does not know: before 1.5 there
// are none, before 1.10 they are host names.
func checkNodeIdent(c *call, ident string) error {
	switch {
	case isUUIDLike(ident):
		return nil
	case c.version < 5:
		return nodeNotFound(ident)
	case !isNodeName(ident, c.version):
		return badRequest("Expected a logical name or UUID but received %s.", ident)
	}
	return nil
}

// How long a write waits for a node that somebody works on, and how often it
// looks: Ironic tries three times, a second apart.
const (
	lockPatience = 2 * time.Second
	lockPause    = 50 * time.Millisecond
)

// changeNode runs f with the node locked. A node that work is under way on is
// waited for a little, then refused with the holder's name.
func (s *Service) changeNode(ctx context.Context, uuid string, f func(ctx context.Context, tx *store.Tx, n *metal.Node) error) error {
	return s.whenFree(ctx, uuid, func() error {
		return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			n, err := tx.LockNode(ctx, uuid)
			if err != nil {
				return err
			}
			if n.Reservation != nil {
				return locked(n)
			}
			return f(ctx, tx, n)
		})
	})
}

// whenFree repeats f where it finds the node locked: once the lock is gone, or a
// last time when patience is at its end.
func (s *Service) whenFree(ctx context.Context, uuid string, f func() error) error {
	err := f()
	if metal.ReasonOf(err) != metal.Locked || store.InUnit(ctx) { // who began the unit waits
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	tick := time.NewTicker(lockPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
		n, again := s.store.NodeByUUID(ctx, uuid)
		if again != nil {
			return err
		}
		if n.Reservation != nil {
			continue
		}
		if err = f(); metal.ReasonOf(err) != metal.Locked {
			return err
		}
	}
}

func locked(n *metal.Node) error {
	return metal.Errorf(metal.Locked, "Node %s is locked by host %s, please retry after the current operation is completed.",
		n.UUID, *n.Reservation)
}

// conductors are the conductors as one request sees them.
type conductors struct {
	alive []metal.Conductor
}

func (s *Service) liveConductors(ctx context.Context) (conductors, error) {
	all, err := s.store.Conductors(ctx)
	if err != nil {
		return conductors{}, err
	}
	now := s.now()
	alive := make([]metal.Conductor, 0, len(all))
	for _, c := range all {
		if c.Alive(now, s.config.Conductor.HeartbeatTimeout) {
			alive = append(alive, c)
		}
	}
	return conductors{alive}, nil
}

// groupOf is the group of a conductor that is alive.
func (cs conductors) groupOf(hostname string) (group string, alive bool) {
	for _, c := range cs.alive {
		if c.Hostname == hostname {
			return c.ConductorGroup, true
		}
	}
	return "", false
}

// serving is the host that serves the node: of those alive in its group with its
// driver always the same one; "" for none.
func (cs conductors) serving(n *metal.Node) string {
	best, bestScore := "", uint64(0)
	for _, c := range cs.alive {
		if c.ConductorGroup != n.ConductorGroup || !slices.Contains(c.Drivers, n.Driver) {
			continue
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(c.Hostname + "/" + n.UUID))
		if score := h.Sum64(); best == "" || score > bestScore {
			best, bestScore = c.Hostname, score
		}
	}
	return best
}

// requireConductor refuses a node that nobody serves; status differs by route
// as it does in Ironic. A ramdisk's call that came through an agent of the
// node's site is served by it: the agent may be back before its session is.
func (s *Service) requireConductor(ctx context.Context, n *metal.Node, status int) error {
	if site, relayed := link.RelayingSite(ctx); relayed && site == n.ConductorGroup {
		return nil
	}
	cs, err := s.liveConductors(ctx)
	if err != nil {
		return err
	}
	if cs.serving(n) == "" {
		return faultf(status, "No valid host was found. Reason: No conductor service registered which supports driver %s for conductor group %q. "+
			"Ensure the driver is valid and enabled.",
			n.Driver, n.ConductorGroup)
	}
	return nil
}

// encoding is what every encoder needs: no answer is written without the rights
// of whom it is for.
func (c *call) encoding() *encoding {
	return &encoding{base: c.base, version: c.version, rights: c.rights}
}

// encoding is what encoders need for this request; who serves a node is looked
// up only where the answer shows it.
func (s *Service) encoding(c *call, needsConductor bool) (*encoding, error) {
	e := c.encoding()
	if !needsConductor {
		return e, nil
	}
	cs, err := s.liveConductors(c.Request().Context())
	if err != nil {
		return nil, err
	}
	e.conductor = cs.serving
	return e, nil
}
