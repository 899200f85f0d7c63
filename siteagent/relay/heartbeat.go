package relay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
)

// errNoHeartbeat is a body that is no JSON object.
var errNoHeartbeat = errors.New("the body of a heartbeat is one JSON object")

// checkHeartbeat judges the call-back address in a heartbeat. The request goes
// on with the very values that were judged: as JSON in which each member stands
// once, and without a query, from which the API would take arguments too.
func (h *Handler) checkHeartbeat(out *http.Request, remote string) error {
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return errNoHeartbeat
	}
	var callback string
	if json.Unmarshal(members["callback_url"], &callback) == nil && callback != "" { // what is no text, the API refuses
		from, err := netip.ParseAddrPort(remote)
		if err != nil {
			return fmt.Errorf("read the caller's address: %w", err)
		}
		if err := h.check(callback, from.Addr()); err != nil {
			return err
		}
	}
	if body, err = json.Marshal(members); err != nil {
		return fmt.Errorf("write the heartbeat anew: %w", err)
	}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.Header.Set("Content-Type", "application/json")
	out.URL.RawQuery = ""
	return nil
}

// refuseHeartbeat answers a heartbeat that is not passed on.
func (h *Handler) refuseHeartbeat(w http.ResponseWriter, r *http.Request, cause error) {
	var large *http.MaxBytesError
	if errors.As(cause, &large) {
		complain(w, http.StatusRequestEntityTooLarge, "Request body is too large")
		return
	}
	h.log.WarnContext(r.Context(), "a ramdisk's heartbeat was refused", "path", r.URL.Path, "from", r.RemoteAddr, "reason", cause)
	complain(w, http.StatusBadRequest, "The heartbeat was refused by the site's agent: "+cause.Error())
}
