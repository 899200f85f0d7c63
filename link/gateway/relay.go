package gateway

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"ferrule/link"
	"ferrule/trust"
)

// relayed are the routes that a ramdisk may reach through its site's agent.
// Each stands with and without a slash at its end.
func relayed(method, escapedPath string) bool {
	path := strings.TrimSuffix(escapedPath, "/")
	reading := method == http.MethodGet || method == http.MethodHead
	posting := method == http.MethodPost
	switch path {
	case "", "/v1", "/v1/lookup":
		return reading
	case "/v1/continue_inspection":
		return posting
	}
	id, found := strings.CutPrefix(path, "/v1/heartbeat/")
	return found && posting && id != "" && id != "." && id != ".." && !strings.ContainsAny(id, "/%")
}

// relay serves a ramdisk's request as the API would, and nothing besides its
// own routes.
func (g *Gateway) relay(w http.ResponseWriter, r *http.Request, from trust.Signer) error {
	path := strings.TrimPrefix(r.URL.EscapedPath(), link.PathRelay)
	if !relayed(r.Method, path) {
		return &trust.Refusal{Code: link.ProblemNotFound, Text: "the relay does not serve " + r.Method + " " + path}
	}
	if r.ContentLength > link.MaxRelayBody {
		return &http.MaxBytesError{Limit: link.MaxRelayBody}
	}
	ctx, query := takeProof(link.RelayedFrom(r.Context(), from.Agent.Site), r.URL)
	inner := r.Clone(ctx)
	inner.URL = &url.URL{Path: path, RawQuery: query} // no escapes in an allowed path
	inner.RequestURI = inner.URL.RequestURI()
	inner.TLS = nil // the ramdisk's own connection had none, and the agent's certificate is not its
	inner.Header = link.EndToEnd(r.Header)
	inner.Header.Del(link.HeaderRelayHost)
	if host := r.Header.Get(link.HeaderRelayHost); host != "" {
		inner.Host = host
	}
	inner.Body = http.MaxBytesReader(w, r.Body, link.MaxRelayBody)
	g.API.ServeHTTP(w, inner)
	return nil
}

// takeProof moves the proof of inspection data from the query to the context.
// Any other query stays as it is written.
func takeProof(ctx context.Context, u *url.URL) (context.Context, string) {
	values := u.Query()
	if !values.Has(link.ParamInspectionProof) {
		return ctx, u.RawQuery
	}
	ctx = link.WithInspectionProof(ctx, values.Get(link.ParamInspectionProof))
	values.Del(link.ParamInspectionProof)
	return ctx, values.Encode()
}
