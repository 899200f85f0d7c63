package ferrule

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"ferrule/api/auth"
	"ferrule/api/policy"
	"ferrule/api/status"
	"ferrule/metal"
)

// problem is the body of every answer that is no success.
type problem struct {
	Error string `json:"error"`
}

// refuse answers with an error: the text of a refusal, and of any other only
// that there was one.
func (s *Service) refuse(c echo.Context, err error) error {
	code, text := http.StatusInternalServerError, "The request failed inside the server; its log tells why."
	var unknown *auth.Refusal
	var denied *policy.Denied
	var refused *metal.Error
	switch {
	case errors.As(err, &unknown):
		code, text = unknown.Status, unknown.Message
		if unknown.Challenge != "" {
			c.Response().Header().Set("WWW-Authenticate", unknown.Challenge)
		}
	case errors.As(err, &denied):
		code, text = http.StatusForbidden, denied.Error()
	case errors.As(err, new(*http.MaxBytesError)):
		code, text = http.StatusRequestEntityTooLarge, "The body is too large."
	case errors.As(err, &refused):
		code, text = status.Of(refused.Reason), refused.Text
	}
	if code == http.StatusInternalServerError {
		r := c.Request()
		s.Logger.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	return c.JSON(code, problem{text})
}
