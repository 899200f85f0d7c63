package ferrule

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"ferrule/metal"
)

// JoinCodeRequest asks for a join code.
type JoinCodeRequest struct {
	Site            string `json:"site"` // "" is the default site
	LifetimeSeconds int64  `json:"lifetimeSeconds,omitempty"`
}

// JoinCode is a join code as it is handed over, this once.
type JoinCode struct {
	Code      string    `json:"code"`
	Site      string    `json:"site"`
	ExpiresAt time.Time `json:"expiresAt"`
}

const (
	maxBody         = 64 << 10
	maxSiteName     = 255
	maxCodeLifetime = 30 * 24 * time.Hour
)

// siteName is what Ironic takes as a conductor group, which a site is
// (Ironic: node schema, conductor_group).
var siteName = regexp.MustCompile(`^[A-Za-z0-9_.-]*$`)

func (s *Service) makeJoinCode(c echo.Context) (int, any, error) {
	var ask JoinCodeRequest
	if err := readBody(c, &ask); err != nil {
		return 0, nil, err
	}
	site := strings.ToLower(ask.Site)
	if len(site) > maxSiteName || !siteName.MatchString(site) {
		return 0, nil, metal.Errorf(metal.Invalid,
			"The name of a site has at most %d letters, digits, dots, hyphens and underscores.", maxSiteName)
	}
	if ask.LifetimeSeconds < 0 || ask.LifetimeSeconds > int64(maxCodeLifetime/time.Second) {
		return 0, nil, metal.Errorf(metal.Invalid, "lifetimeSeconds must be from 1 to %d; leave it out for the deployment's own.",
			int64(maxCodeLifetime/time.Second))
	}
	if s.Agents == nil {
		return 0, nil, metal.Errorf(metal.Unavailable, "This process does not let agents join.")
	}
	life := time.Duration(ask.LifetimeSeconds) * time.Second
	code, expires, err := s.Agents.NewJoinCode(c.Request().Context(), site, life)
	if err != nil {
		return 0, nil, err
	}
	s.Logger.InfoContext(c.Request().Context(), "join code made", "site", site, "expires", expires)
	return http.StatusCreated, JoinCode{Code: code, Site: site, ExpiresAt: expires.UTC()}, nil
}

// readBody reads a JSON object and nothing else.
func readBody(c echo.Context, into any) error {
	raw, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, maxBody))
	if err != nil {
		return err
	}
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		return metal.Errorf(metal.Invalid, "The body is no text in UTF-8.")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return metal.Errorf(metal.Invalid, "The body is not as expected: %s.", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return metal.Errorf(metal.Invalid, "The body is more than one JSON object.")
	}
	return nil
}
