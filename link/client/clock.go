package client

import (
	"net/http"
	"time"
)

// clockPrecision is the difference between two clocks that is not corrected: an
// HTTP date has seconds, and an answer takes its time.
const clockPrecision = time.Minute

// controlPlaneTime is the time by the control plane's clock, as far as the
// session's opening told it. Requests for secrets are dated by it, so that an
// agent whose clock is wrong gets them; only the control plane judges that date.
func (c *Client) controlPlaneTime() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// compareClocks notes how the control plane's clock, which said date, differs
// from this host's. It reports whether that is news.
func (c *Client) compareClocks(date string) (changed bool) {
	said, err := http.ParseTime(date)
	if err != nil {
		return false
	}
	ahead := time.Until(said)
	if ahead.Abs() <= clockPrecision {
		ahead = 0
	}
	c.mu.Lock()
	changed = (ahead - c.ahead).Abs() > clockPrecision
	if changed {
		c.ahead = ahead
	}
	c.mu.Unlock()
	if changed && ahead != 0 {
		c.log.Warn("the clocks of the control plane and of this host differ; set the one that is wrong",
			"control_plane", said.UTC(), "this_host", time.Now().UTC())
	}
	return changed
}
