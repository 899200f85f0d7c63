package kill

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"ferrule/compat-tests/plane"
	"ferrule/lab"
)

// life is one node after the other in front of the same machine, each taken
// from its creation to the end, by a client that sees the API come and go.
type life struct {
	plane  *plane.Plane
	lab    *servers
	server *lab.Identity // nil: fake-hardware
	name   string
	group  string
	enough <-chan struct{} // closed when the life under way is to be the last

	lives  int
	stages atomic.Int64 // over all lives
}

// pause is how long the client waits before it looks or tries again.
const pause = 50 * time.Millisecond

// stage is one verb of a life and the state that it ends in.
type stage struct{ verb, end string }

var (
	beforeImage = []stage{{"manage", "manageable"}, {"inspect", "manageable"}, {"clean", "manageable"}, {"provide", "available"}}
	withImage   = []stage{
		{"active", "active"}, {"rescue", "rescue"}, {"unrescue", "active"}, {"service", "active"}, {"deleted", "available"},
	}
)

// run lives until there have been enough lives; the last node stays, available.
func (l *life) run(ctx context.Context) error {
	for {
		if err := l.once(ctx); err != nil {
			return fmt.Errorf("%s, in life %d: %w", l.name, l.lives+1, err)
		}
		l.lives++
		select {
		case <-l.enough:
			return nil
		default:
		}
		if err := l.remove(ctx); err != nil {
			return fmt.Errorf("%s, after life %d: %w", l.name, l.lives, err)
		}
	}
}

func (l *life) once(ctx context.Context) error {
	if err := l.create(ctx); err != nil {
		return err
	}
	for _, s := range beforeImage {
		if err := l.reach(ctx, s); err != nil {
			return err
		}
		l.stages.Add(1)
	}
	if err := l.chooseImage(ctx); err != nil {
		return err
	}
	for _, s := range withImage {
		if err := l.reach(ctx, s); err != nil {
			return err
		}
		l.stages.Add(1)
		if s.verb == "active" {
			if err := l.useInstance(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// useInstance switches the instance off and on again.
func (l *life) useInstance(ctx context.Context) error {
	for _, target := range []string{"power on", "power off", "power on"} {
		if err := l.power(ctx, target); err != nil {
			return err
		}
		if target != "power on" {
			continue
		}
		if err := l.awaitInstance(ctx); err != nil {
			return err
		}
	}
	return nil
}

// power asks for a state of power until the node has it.
func (l *life) power(ctx context.Context, target string) error {
	var refusal any
	return again(ctx, target, func() (bool, any, error) {
		n, err := l.look(ctx)
		if err != nil {
			return false, refusal, err
		}
		switch {
		case n["last_error"] != nil:
			return false, nil, fmt.Errorf("%s: the node is %v: %v", target, n["power_state"], n["last_error"])
		case n["target_power_state"] != nil:
			return false, fmt.Sprintf("on the way to %v", n["target_power_state"]), nil
		case n["power_state"] == target:
			return true, nil, nil
		}
		a, err := l.plane.Try(ctx, http.MethodPut, "/v1/nodes/"+l.name+"/states/power", map[string]any{"target": target})
		refusal = told(a, err)
		return false, refusal, nil
	})
}

// again does try until it says that it is done.
func again(ctx context.Context, what string, try func() (done bool, state any, err error)) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		done, state, err := try()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; at last: %v", what, ctx.Err(), state)
		case <-tick.C:
		}
	}
}

// transient says whether a request is to be sent again: no answer came, or one
// that says that the node or the service is busy.
func transient(a plane.Answer, err error) bool {
	return err != nil || a.Status == http.StatusConflict || a.Status >= http.StatusInternalServerError
}

func (l *life) create(ctx context.Context) error {
	return again(ctx, "create the node", func() (bool, any, error) {
		a, err := l.plane.Try(ctx, http.MethodPost, "/v1/nodes", l.node(), l.key("create"))
		switch {
		case err == nil && a.Status == http.StatusCreated:
			return true, nil, nil
		case transient(a, err) || strings.Contains(a.Text, "No valid host was found"):
			return false, told(a, err), nil // the last where the site's agent is away
		}
		return false, nil, fmt.Errorf("create the node: %d %s", a.Status, a.Text)
	})
}

// key marks a request of this life, so that it may be sent again.
func (l *life) key(what string) string {
	return fmt.Sprintf("Idempotency-Key: %s-%d-%s", l.name, l.lives, what)
}

func told(a plane.Answer, err error) any {
	if err != nil {
		return err
	}
	return fmt.Sprintf("%d %s", a.Status, a.Text)
}

func (l *life) node() map[string]any {
	if l.server == nil {
		return map[string]any{"name": l.name, "driver": "fake-hardware"}
	}
	c := l.lab.credentials[l.server.Name]
	return map[string]any{
		"name": l.name, "driver": "redfish", "inspect_interface": "agent", "deploy_interface": "direct",
		"rescue_interface": "agent", "conductor_group": l.group,
		"driver_info": map[string]any{
			"redfish_address": l.server.RedfishAddress, "redfish_system_id": l.server.SystemID,
			"redfish_username": c.Username, "redfish_password": c.Password,
			"redfish_tls_spki_sha256": l.server.SPKISHA256,
			"deploy_kernel":           l.lab.ready.Kernel, "deploy_ramdisk": l.lab.ready.Ramdisk,
			"rescue_kernel": l.lab.ready.Kernel, "rescue_ramdisk": l.lab.ready.Ramdisk,
		},
	}
}

// look reads the node.
func (l *life) look(ctx context.Context) (node map[string]any, err error) {
	return node, again(ctx, "read the node", func() (bool, any, error) {
		a, err := l.plane.Try(ctx, http.MethodGet, "/v1/nodes/"+l.name, nil)
		node = a.Body
		return err == nil && a.Status == http.StatusOK, told(a, err), nil
	})
}

// reach asks for a verb until it is taken, and waits for its end. Whether a
// request whose answer was lost was taken shows in the state and in the time of
// its last change.
func (l *life) reach(ctx context.Context, s stage) error {
	before, err := l.look(ctx)
	if err != nil {
		return err
	}
	var refusal any
	err = again(ctx, s.verb, func() (bool, any, error) {
		n, err := l.look(ctx)
		if err != nil {
			return false, refusal, err
		}
		state := fmt.Sprintf("%v, last asked: %v", n["provision_state"], refusal)
		moved := n["provision_state"] != before["provision_state"] || n["provision_updated_at"] != before["provision_updated_at"]
		switch {
		case n["last_error"] != nil:
			return false, nil, fmt.Errorf("%s: the node is %v: %v", s.verb, n["provision_state"], n["last_error"])
		case moved:
			return n["provision_state"] == s.end && n["target_provision_state"] == nil, state, nil
		}
		a, err := l.plane.Try(ctx, http.MethodPut, "/v1/nodes/"+l.name+"/states/provision", l.body(s), l.key(s.verb))
		refusal = told(a, err)
		return false, state, nil
	})
	return err
}

func (l *life) body(s stage) map[string]any {
	body := map[string]any{"target": s.verb}
	step := map[string]any{"interface": "deploy", "step": "burnin_cpu"}
	if l.server == nil {
		step = map[string]any{"interface": "power", "step": "wait", "args": map[string]any{"seconds": 1}}
	}
	switch s.verb {
	case "active":
		if l.server != nil {
			body["configdrive"] = map[string]any{"meta_data": map[string]any{"hostname": l.name}}
		}
	case "rescue":
		body["rescue_password"] = "obviously-fake"
	case "clean", "service":
		body[s.verb+"_steps"] = []any{step}
	}
	return body
}

func (l *life) chooseImage(ctx context.Context) error {
	if l.server == nil {
		return nil
	}
	image := l.lab.image()
	patch := []map[string]any{{"op": "add", "path": "/instance_info", "value": map[string]any{
		"image_source": image.URL, "image_disk_format": image.DiskFormat,
		"image_os_hash_algo": "sha256", "image_os_hash_value": image.SHA256,
	}}}
	return again(ctx, "choose the image", func() (bool, any, error) {
		a, err := l.plane.Try(ctx, http.MethodPatch, "/v1/nodes/"+l.name, patch)
		if transient(a, err) || a.Status == http.StatusOK {
			return a.Status == http.StatusOK, told(a, err), nil
		}
		return false, nil, fmt.Errorf("choose the image: %d %s", a.Status, a.Text)
	})
}

// awaitInstance waits until the machine has started from the image.
func (l *life) awaitInstance(ctx context.Context) error {
	if l.server == nil {
		return nil
	}
	return again(ctx, "start the instance", func() (bool, any, error) {
		s, err := l.lab.Server(ctx, l.server.Name)
		switch {
		case err != nil:
			return false, nil, err
		case !s.LastBoot.Booted:
			return false, s.LastBoot.Reason, nil
		case s.Image == nil || s.Image.SHA256 != l.lab.image().RawSHA256:
			return false, nil, errors.New("the machine runs something else than the image")
		}
		return true, nil, nil
	})
}

// remove deletes the node.
func (l *life) remove(ctx context.Context) error {
	return again(ctx, "delete the node", func() (bool, any, error) {
		a, err := l.plane.Try(ctx, http.MethodDelete, "/v1/nodes/"+l.name, nil)
		gone := err == nil && (a.Status == http.StatusNoContent || a.Status == http.StatusNotFound)
		return gone, told(a, err), nil
	})
}
