package redfish

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// errPending is a look that has not seen what it waits for when its time is
// over.
var errPending = errors.New("still waiting")

// poll looks again and again, at growing distances, until done, an error, or
// the limit; the last look is at the limit.
func (c *client) poll(limit time.Duration, look func() (done bool, err error)) error {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval, waits.MaxInterval = c.transport.pace.pollFirst, c.transport.pace.pollMost
	end := time.Now().Add(limit)
	for {
		done, err := look()
		if done || err != nil {
			return err
		}
		left := time.Until(end)
		if left <= 0 {
			return errPending
		}
		if err := c.pause(min(waits.NextBackOff(), left)); err != nil {
			return err
		}
	}
}

// pause waits, or ends with the command.
func (c *client) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.transport.command.Done():
		return context.Cause(c.transport.command)
	}
}

// follow waits for the end of a write that the BMC only accepted (202). Where
// it names nothing to look at, what is read back afterwards has to tell.
func (c *client) follow(what, location string, body []byte) error {
	accepted, _ := decode(body)
	for _, named := range []string{location, accepted.text("TaskMonitor"), accepted.text("@odata.id")} {
		if named == "" {
			continue
		}
		path, err := c.localPath(named)
		if err != nil {
			return err
		}
		err = c.poll(c.transport.pace.taskFor, c.taskLook(what, path))
		if errors.Is(err, errPending) {
			return driver.Errorf(metal.CodeOutcomeUnknown, "BMC %s: the task of %s (%s) had no end after %s", c.access.address, what, path, c.transport.pace.taskFor)
		}
		return err
	}
	return nil
}

// taskLook reads a task or its monitor once. A BMC that is away for a moment,
// as after a change of its own, is asked again.
func (c *client) taskLook(what, path string) func() (bool, error) {
	seen := false
	return func() (bool, error) {
		resp, body, err := c.send(http.MethodGet, path, nil, nil)
		var r *refusal
		switch {
		case errors.As(err, &r) && r.status == http.StatusNotFound && seen:
			return true, nil // it is over and forgotten
		case driver.CodeOf(err) == metal.CodeUnreachable && err != nil && c.transport.command.Err() == nil:
			return false, nil
		case err != nil:
			return false, err
		}
		seen = true
		if resp.StatusCode == http.StatusAccepted {
			return false, nil
		}
		task, _ := decode(body)
		return c.taskEnd(what, path, task)
	}
}

func (c *client) taskEnd(what, path string, task fields) (bool, error) {
	switch state := task.text("TaskState"); state {
	case "New", "Starting", "Running", "Suspended", "Interrupted", "Pending", "Stopping", "Service", "Cancelling":
		return false, nil
	case "Exception", "Killed", "Cancelled":
		var said []string
		for _, m := range task.children("Messages") {
			said = append(said, m.text("Message"))
		}
		r := &refusal{status: http.StatusOK, words: []word{{text: strings.Join(said, "; ")}}}
		return false, driver.Errorf(metal.CodeBMCError, "BMC %s: %s was accepted and its task %s ended as %s: %s", c.access.address, what, path, state, r.said())
	}
	return true, nil
}
