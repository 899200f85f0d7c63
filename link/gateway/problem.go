package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"ferrule/link"
	"ferrule/metal"
	"ferrule/trust"
)

// answer turns a handler's error into a problem. A nil error was answered.
func (g *Gateway) answer(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil {
		return
	}
	status, problem := problemOf(err)
	level := slog.LevelWarn
	switch {
	case metal.ReasonOf(err) == metal.Outage:
		level = slog.LevelDebug // the log is told of it once, and not by each agent
	case status >= http.StatusInternalServerError && r.Context().Err() == nil:
		level = slog.LevelError
	}
	g.log.Log(r.Context(), level, "request of an agent was not served", "path", r.URL.Path, "status", status, "error", err,
		"cause", errors.Unwrap(err), "from", r.RemoteAddr)
	writeJSON(w, status, problem)
}

// problemOf is the one place where errors become answers.
func problemOf(err error) (int, link.Problem) {
	var refusal *trust.Refusal
	var tooLarge *http.MaxBytesError
	var refused *metal.Error
	switch {
	case errors.As(err, &refusal):
		return refusalStatus(refusal.Code), link.Problem{Code: refusal.Code, Message: refusal.Text}
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, link.Problem{Code: link.ProblemTooLarge, Message: "the body is too large"}
	case errors.As(err, &refused) && refused.Reason == metal.NotFound:
		return http.StatusNotFound, link.Problem{Code: link.ProblemNotFound, Message: refused.Text}
	case errors.As(err, &refused) && refused.Reason == metal.Invalid:
		return http.StatusBadRequest, link.Problem{Code: trust.RefusedMalformed, Message: refused.Text}
	case errors.As(err, &refused) && (refused.Reason == metal.Unavailable || refused.Reason == metal.Outage), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable, link.Problem{Code: link.ProblemInternal, Message: "try again later"}
	}
	return http.StatusInternalServerError, link.Problem{Code: link.ProblemInternal, Message: "the control plane failed; see its log"}
}

func refusalStatus(code trust.RefusalCode) int {
	switch code {
	case trust.RefusedMalformed:
		return http.StatusBadRequest
	case trust.RefusedRevoked, link.ProblemSuperseded:
		return http.StatusUnauthorized
	case trust.RefusedNoSecret, link.ProblemNotFound:
		return http.StatusNotFound
	}
	return http.StatusForbidden
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", link.TypeJSON)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the peer is gone: nothing to be done
}

func readJSON(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(metal.StorableJSON(body), v); err != nil {
		return malformed(err, "the body is not the JSON expected")
	}
	return nil
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, link.MaxBody))
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) {
		return nil, malformed(err, "the body did not arrive whole")
	}
	return body, err
}

func malformed(cause error, text string) error {
	return &trust.Refusal{Code: trust.RefusedMalformed, Text: text, Cause: cause}
}
