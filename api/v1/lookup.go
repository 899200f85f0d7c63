package v1

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"

	"ferrule/link"
	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

func (s *Service) checkRamdiskEndpoints(c *call) error {
	// The option closes what is not authenticated; a site's agent is.
	if _, relayed := link.RelayingSite(c.Request().Context()); !relayed && !s.config.API.EnableRamdiskEndpoints {
		return faultf(http.StatusForbidden, "The ramdisk endpoints are disabled by this deployment's configuration.")
	}
	return nil
}

// lookup tells a ramdisk which node it runs on. Whatever keeps the node from
// being found gives the same 404 (Ironic: LookupController).
func (s *Service) lookup(c *call) error {
	if err := c.checkVersion(); err != nil {
		return err
	}
	if err := s.checkRamdiskEndpoints(c); err != nil {
		return err
	}
	uuid, err := c.query.uuid("node_uuid")
	if err != nil {
		return err
	}
	addresses, _ := c.query.list("addresses")
	macs := validMACs(addresses)
	if len(macs) == 0 && uuid == nil {
		return badRequest("At least one of 'addresses' and 'node_uuid' parameters is required")
	}
	ctx := c.Request().Context()
	n, err := s.lookupNode(ctx, uuid, macs)
	if err != nil {
		return err
	}
	if s.config.API.RestrictLookup && !s.lookupAllowed(&n) {
		return s.refuseLookup(ctx, uuid, macs, wrongState(&n))
	}
	token := ""
	if c.version >= 62 {
		if err := s.requireConductor(ctx, &n, http.StatusBadRequest); err != nil {
			return err
		}
		if token, err = s.giveToken(ctx, &n); err != nil {
			return err
		}
	}
	return s.answerRamdisk(c, http.StatusOK, &n, token)
}

func wrongState(n *metal.Node) string {
	return fmt.Sprintf("node %s is in the state %s", n.UUID, n.ProvisionState)
}

func lookupFailed() error { return notFound("Resource could not be found.") }

func (s *Service) lookupNode(ctx context.Context, uuid *string, macs []string) (metal.Node, error) {
	var n metal.Node
	var err error
	if uuid != nil {
		n, err = s.store.NodeByUUID(ctx, *uuid)
	} else {
		n, err = s.store.NodeByMACs(ctx, macs)
	}
	switch {
	case metal.ReasonOf(err) == metal.NotFound:
		return n, s.refuseLookup(ctx, uuid, macs, err.Error())
	case err == nil && hidden(ctx, &n):
		return n, s.refuseLookup(ctx, uuid, macs, otherSite(ctx, &n))
	}
	return n, err
}

// otherSite says, for the log, why a node does not exist for a relayed call.
func otherSite(ctx context.Context, n *metal.Node) string {
	site, _ := link.RelayingSite(ctx)
	return fmt.Sprintf("node %s is in the conductor group %q, and the call came through the agent of the site %q", n.UUID, n.ConductorGroup, site)
}

func validMACs(addresses []string) []string {
	var macs []string
	for _, a := range addresses {
		if mac, ok := normalMAC(a); ok {
			macs = append(macs, mac)
		}
	}
	return macs
}

func (s *Service) lookupAllowed(n *metal.Node) bool {
	info, _ := n.ProvisionState.Info()
	if s.fastTrack(n) {
		return info.LookupAllowed || n.ProvisionState.Is(metal.Enroll, metal.Manageable, metal.Available, metal.Servicing, metal.ServiceHold)
	}
	return info.LookupAllowed
}

// fastTrack reports whether the node's ramdisk may stay up between operations.
func (s *Service) fastTrack(n *metal.Node) bool {
	switch v := n.DriverInfo.Lookup("fast_track").(type) {
	case bool:
		return v
	case string:
		b, _ := parseBool(v)
		return b
	}
	return s.config.Deploy.FastTrack
}

// giveToken makes the node's token and returns it in clear, this once; a node
// that has one gets the mask. A busy node is refused at once, so that calls do
// not pile up.
func (s *Service) giveToken(ctx context.Context, n *metal.Node) (string, error) {
	if n.DriverInternalInfo.Text(metal.InfoToken) != "" {
		return metal.Masked, nil
	}
	token, err := newToken()
	if err != nil {
		return "", err
	}
	ref := metal.RamdiskToken(n.UUID).Ref()
	given := token
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		fresh, err := tx.LockNode(ctx, n.UUID)
		if err != nil {
			return err
		}
		*n, given = *fresh, metal.Masked
		if fresh.DriverInternalInfo.Text(metal.InfoToken) != "" {
			return nil
		}
		if fresh.Reservation != nil {
			return locked(fresh)
		}
		given = token
		fresh.DriverInternalInfo = fresh.DriverInternalInfo.With(metal.InfoToken, ref)
		if err := tx.UpdateNode(ctx, fresh, "driver_internal_info"); err != nil {
			return err
		}
		*n = *fresh
		return s.putSecret(ctx, tx, n.UUID, ref, token, "")
	})
	return given, err
}

// newToken is 43 characters, safe in a URL.
func newToken() (string, error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// token is the node's token in clear; "" where it has none.
func (s *Service) token(ctx context.Context, n *metal.Node) (string, error) {
	if n.DriverInternalInfo.Text(metal.InfoToken) == "" {
		return "", nil
	}
	token, err := s.openSecret(ctx, s.store, metal.RamdiskToken(n.UUID).Ref(), "")
	if metal.ReasonOf(err) == metal.NotFound {
		return "", nil
	}
	return token, err
}

var ramdiskView = view{openapi.NodeUUID, openapi.NodeProperties, openapi.NodeInstanceInfo, openapi.NodeDriverInternalInfo, openapi.NodeLinks}

// answerRamdisk is the node as the ramdisk may see it, and its settings.
func (s *Service) answerRamdisk(c *call, status int, n *metal.Node, token string) error {
	e := &encoding{base: c.base, version: max(c.version, 3), rights: c.rights}
	b := append(make([]byte, 0, 2048), `{"node":`...)
	b = appendNode(b, n, ramdiskView, e)
	b = append(b, `,"config":`...)
	b = append(b, metal.ToJSON(s.ramdiskConfig(n, token))...)
	return c.json(status, append(b, '}'))
}

func (s *Service) ramdiskConfig(n *metal.Node, token string) map[string]any {
	return map[string]any{
		"metrics": map[string]any{
			"backend": "noop", "prepend_host": false, "prepend_uuid": false, "prepend_host_reverse": true, "global_prefix": nil,
		},
		"metrics_statsd":    map[string]any{"statsd_host": "localhost", "statsd_port": 8125},
		"heartbeat_timeout": int(s.config.API.RamdiskHeartbeatTimeout.Seconds()),
		"agent_containers": map[string]any{
			"allow_arbitrary_containers": false, "allowed_containers": []string{}, "container_steps_file": "/etc/ironic-python-agent.d/mysteps.yaml",
			"runner": "podman", "pull_options": []string{}, "run_options": []string{"--rm", "--network=host"},
		},
		"agent_token":                    emptyAsNull(token),
		"agent_token_required":           true,
		"agent_md5_checksum_enable":      s.config.Agent.AllowMD5Checksum,
		"disable_deep_image_inspection":  false,
		"permitted_image_formats":        s.config.Conductor.PermittedImageFormats,
		"agent_skip_bmc_detect":          s.management(n).KnowsBMC,
		"enable_bios_bootloader_install": s.config.Agent.EnableBIOSBootloaderInstall,
		"tls_min_version":                "1.3",
		"tls_cipher_suites":              nil,
	}
}
