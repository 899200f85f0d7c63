package v1

import (
	"context"
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ferrule/failpoint"
	"ferrule/metal"
	"ferrule/store"
)

// heartbeatCall is what a ramdisk says of itself.
type heartbeatCall struct {
	callbackURL                                     string
	version, token, verifyCA, status, statusMessage *string
}

func readHeartbeat(c *call) (*heartbeatCall, error) {
	c.raw = metal.StorableJSON(c.raw)
	kw, err := c.keywords()
	if err != nil {
		return nil, err
	}
	if err := kw.required("callback_url"); err != nil {
		return nil, err
	}
	h := &heartbeatCall{}
	var address *string
	for name, field := range map[string]**string{
		"callback_url": &address, "agent_version": &h.version, "agent_token": &h.token,
		"agent_verify_ca": &h.verifyCA, "agent_status": &h.status, "agent_status_message": &h.statusMessage,
	} {
		if *field, err = kw.text(name); err != nil {
			return nil, err
		}
	}
	if address != nil {
		h.callbackURL = *address
	}
	return h, nil
}

// heartbeat takes a ramdisk's sign of life (Ironic: HeartbeatController and
// ConductorManager.heartbeat).
func (s *Service) heartbeat(c *call) error {
	h, err := readHeartbeat(c)
	if err != nil {
		return err
	}
	if err := s.checkRamdiskEndpoints(c); err != nil {
		return err
	}
	if err := h.checkVersion(c); err != nil {
		return err
	}
	ident := c.Param("node")
	if !isIdent(ident) {
		return badRequest("Expected UUID or name for node_ident: %s", ident)
	}
	n, err := s.nodeWithSuffix(c, ident)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := h.checkURL(&n); err != nil {
		return err
	}
	if err := s.requireConductor(ctx, &n, http.StatusBadRequest); err != nil {
		return err
	}
	if err := s.checkHeartbeat(ctx, h, &n); err != nil {
		return err
	}
	if err := s.recordHeartbeat(ctx, h, &n); err != nil {
		return err
	}
	failpoint.Hit("api-heartbeat-committed")
	return c.empty(http.StatusAccepted)
}

func (h *heartbeatCall) checkVersion(c *call) error {
	switch {
	case h.version != nil && *h.version != "" && c.version < c.op.Arg("agent_version").Min:
		return badRequest("Field \"agent_version\" not recognised")
	case (filled(h.status) || filled(h.statusMessage)) && c.version < c.op.Arg("agent_status").Min:
		return badRequest("Fields \"agent_status\" and \"agent_status_message\" not recognised.")
	case h.verifyCA != nil && c.version < c.op.Arg("agent_verify_ca").Min:
		return badRequest("Field \"agent_verify_ca\" not recognised in this version")
	}
	return nil
}

func (h *heartbeatCall) checkURL(n *metal.Node) error {
	if h.callbackURL != "" {
		u, err := url.Parse(h.callbackURL)
		if err != nil || u.User != nil || !strings.Contains(u.Scheme, "http") {
			return badRequest("An issue with the supplied \"callback_url\" has been detected.")
		}
	}
	if known := n.DriverInternalInfo.Text(metal.InfoAgentURL); known != "" && known != h.callbackURL {
		return badRequest("Detected change in ramdisk provided \"callback_url\"")
	}
	if h.token == nil {
		return badRequest("Agent token is required for heartbeat processing.")
	}
	if h.status != nil && !slices.Contains([]string{"start", "end", "error"}, *h.status) {
		return badRequest("Agent status is invalid. Valid states are start,end,error.")
	}
	return nil
}

// checkHeartbeat is what Ironic's conductor checks.
func (s *Service) checkHeartbeat(ctx context.Context, h *heartbeatCall, n *metal.Node) error {
	if h.version == nil && h.status == nil {
		return badRequest("Agent did not transmit a version, and a version is required. Please update the agent being used.")
	}
	token, err := s.token(ctx, n)
	if err != nil {
		return err
	}
	if token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(*h.token)) != 1 {
		return badRequest("Invalid or missing agent token received.")
	}
	if s.config.Agent.RequireTLS && h.callbackURL != "" && !strings.HasPrefix(h.callbackURL, "https://") {
		return badRequest("TLS is required by configuration")
	}
	known := n.DriverInternalInfo.Text(metal.InfoAgentCA)
	if h.verifyCA != nil && known != "" && known != *h.verifyCA {
		return badRequest("The ramdisk's certificate has changed while it runs.")
	}
	if n.DriverInternalInfo.Text(metal.InfoAgentURL) == "" && n.Reservation != nil {
		return locked(n)
	}
	return nil
}

// heartbeatTime is how the time of a heartbeat is kept: UTC without a zone.
const heartbeatTime = "2006-01-02T15:04:05.000000"

// recordHeartbeat stores what the ramdisk said, and wakes the node's work where
// some waits for it. A state that takes no heartbeat ignores it. seen is the
// node as it was read without a lock: where no work can wait for the heartbeat,
// one statement will do, if nobody has changed the node meanwhile.
func (s *Service) recordHeartbeat(ctx context.Context, h *heartbeatCall, seen *metal.Node) error {
	if !heartbeatWakes(seen) {
		if !s.recordsHeartbeat(seen) {
			return nil
		}
		s.noteHeartbeat(h, seen)
		err := s.store.TouchNode(ctx, seen, "driver_internal_info")
		if metal.ReasonOf(err) != metal.Conflict {
			return err
		}
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.LockNode(ctx, seen.UUID)
		if err != nil {
			return err
		}
		if !s.recordsHeartbeat(n) {
			return nil
		}
		s.noteHeartbeat(h, n)
		if err := tx.UpdateNode(ctx, n, "driver_internal_info"); err != nil {
			return err
		}
		if !heartbeatWakes(n) {
			return nil
		}
		return tx.Post(ctx, n.UUID, metal.InboxHeartbeat, metal.ToJSON(metal.HeartbeatPayload{AgentURL: h.callbackURL}))
	})
}

func (s *Service) noteHeartbeat(h *heartbeatCall, n *metal.Node) {
	info := n.DriverInternalInfo.Object()
	info[metal.InfoAgentURL] = h.callbackURL
	info[metal.InfoLastHeartbeat] = s.now().Format(heartbeatTime)
	for key, v := range map[string]*string{
		metal.InfoAgentVersion: h.version, metal.InfoAgentCA: h.verifyCA, metal.InfoAgentStatus: h.status, metal.InfoAgentMessage: h.statusMessage,
	} {
		if v != nil {
			info[key] = *v
		}
	}
	n.DriverInternalInfo = metal.ToJSON(info)
}

// heartbeatWakes reports whether work in the node's state may wait for the
// ramdisk.
func heartbeatWakes(n *metal.Node) bool {
	info, _ := n.ProvisionState.Info()
	return info.Heartbeat == metal.HeartbeatWakes
}

func (s *Service) recordsHeartbeat(n *metal.Node) bool {
	info, _ := n.ProvisionState.Info()
	switch info.Heartbeat {
	case metal.HeartbeatWakes, metal.HeartbeatRecorded:
		return true
	case metal.HeartbeatFastTrack:
		return s.fastTrack(n)
	}
	return false
}
