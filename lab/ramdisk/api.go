package ramdisk

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	versionHeader    = "X-OpenStack-Ironic-API-Version"
	requestIDHeader  = "X-OpenStack-Request-ID"
	fallbackMinor    = 31
	lookupMinor      = 62
	heartbeatMinor   = 68
	maxAnswerBytes   = 16 << 20
	maxQuotedMessage = 300
)

// statusError is an answer that is no success.
type statusError struct {
	status int
	body   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("answered %d: %s", e.status, e.body)
}

// apiClient speaks to the control plane's unauthenticated endpoints.
type apiClient struct {
	urls      []string
	http      *http.Client
	requestID string
	minor     int // the newest minor version that the API offers
}

func newAPIClient(urls []string, tlsConfig *tls.Config, timeout time.Duration, requestID string) *apiClient {
	transport := &http.Transport{TLSClientConfig: tlsConfig, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second}
	return &apiClient{urls: urls, http: &http.Client{Transport: transport, Timeout: timeout}, requestID: requestID}
}

func (c *apiClient) close() { c.http.CloseIdleConnections() }

// probe reads the newest version from the API's root and keeps the first of
// its addresses that answers.
func (c *apiClient) probe(ctx context.Context) error {
	var errs []error
	for i, base := range c.urls {
		var root struct {
			Default struct {
				Version string `json:"version"`
			} `json:"default_version"`
		}
		if err := c.call(ctx, http.MethodGet, base+"/", 0, nil, &root); err != nil {
			errs = append(errs, err)
			continue
		}
		c.urls[0], c.urls[i] = c.urls[i], c.urls[0]
		c.minor = fallbackMinor
		if _, minor, ok := strings.Cut(root.Default.Version, "."); ok {
			if n, err := strconv.Atoi(minor); err == nil {
				c.minor = n
			}
		}
		return nil
	}
	return errors.Join(errs...)
}

// lookupAnswer is what the agent reads of a lookup.
type lookupAnswer struct {
	Node struct {
		UUID string `json:"uuid"`
	} `json:"node"`
	Config struct {
		HeartbeatTimeout float64 `json:"heartbeat_timeout"`
		AgentToken       *string `json:"agent_token"`
		TLSMinVersion    string  `json:"tls_min_version"`
	} `json:"config"`
}

func (c *apiClient) lookup(ctx context.Context, macs []string, nodeUUID string) (lookupAnswer, error) {
	query := url.Values{"addresses": {strings.Join(macs, ",")}}
	if nodeUUID != "" {
		query.Set("node_uuid", nodeUUID)
	}
	var answer lookupAnswer
	err := c.call(ctx, http.MethodGet, c.urls[0]+"/v1/lookup?"+query.Encode(), min(c.minor, lookupMinor), nil, &answer)
	if err != nil {
		return lookupAnswer{}, err
	}
	if answer.Node.UUID == "" || answer.Config.HeartbeatTimeout <= 0 {
		return lookupAnswer{}, errors.New("the answer lacks node.uuid or config.heartbeat_timeout")
	}
	return answer, nil
}

type heartbeatBody struct {
	CallbackURL  string `json:"callback_url"`
	AgentVersion string `json:"agent_version,omitempty"`
	AgentToken   string `json:"agent_token,omitempty"`
	VerifyCA     string `json:"agent_verify_ca,omitempty"`
}

func (c *apiClient) heartbeat(ctx context.Context, nodeUUID string, body heartbeatBody) error {
	minor := min(c.minor, heartbeatMinor)
	if minor < 36 {
		body.AgentVersion = ""
	}
	if minor < 62 {
		body.AgentToken = ""
	}
	if minor < 68 {
		body.VerifyCA = ""
	}
	return c.call(ctx, http.MethodPost, c.urls[0]+"/v1/heartbeat/"+url.PathEscape(nodeUUID), minor, body, nil)
}

// call sends one request; minor 0 leaves the version header out.
func (c *apiClient) call(ctx context.Context, method, target string, minor int, body, answer any) error {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encoding the request: %w", err)
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if minor > 0 {
		req.Header.Set(versionHeader, fmt.Sprintf("1.%d", minor))
	}
	if c.requestID != "" {
		req.Header.Set(requestIDHeader, c.requestID)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &statusError{resp.StatusCode, string(b[:min(len(b), maxQuotedMessage)])}
	}
	if answer == nil || len(b) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, answer); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return nil
}

// status is the status of an answer that was no success, 0 for other errors.
func status(err error) int {
	var s *statusError
	if errors.As(err, &s) {
		return s.status
	}
	return 0
}
