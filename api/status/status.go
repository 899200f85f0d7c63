// Package status turns the domain's reasons into HTTP statuses, for every part
// of the API.
package status

import (
	"net/http"

	"ferrule/metal"
)

// Of is the status of a refusal for this reason; 500 for a reason that the
// domain does not have (Ironic: common/exception).
func Of(r metal.Reason) int {
	switch r {
	case metal.Invalid:
		return http.StatusBadRequest
	case metal.Forbidden:
		return http.StatusForbidden
	case metal.NotFound:
		return http.StatusNotFound
	case metal.NotAcceptable:
		return http.StatusNotAcceptable
	case metal.Conflict, metal.Locked:
		return http.StatusConflict
	case metal.Unavailable, metal.Outage:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
