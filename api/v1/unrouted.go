package v1

import (
	"net/http"
	"strings"
)

// unrouted is the answer to a method and path that no route takes. Ironic's
// object dispatch answers by the controller that the path reaches, so what looks
// like a wrong method is, in the node and port trees, a wrong argument.
func unrouted(method, path string) *fault {
	segments := strings.Split(strings.Trim(strings.TrimPrefix(path, "/v1"), "/"), "/")
	switch segments[0] {
	case "nodes":
		return unroutedNode(method, segments[1:])
	case "ports":
		return unroutedPort(method)
	case "drivers", "conductors":
		if method == http.MethodGet {
			return badRequest("Unexpected arguments in the path.")
		}
	case "heartbeat", "continue_inspection":
		if method == http.MethodPost {
			return badRequest("Unexpected or missing arguments in the path.")
		}
	case "lookup":
	case "":
		return faultf(http.StatusMethodNotAllowed, "The method %s is not allowed.", method)
	default:
		return routeFault(http.StatusNotFound)
	}
	return routeFault(http.StatusMethodNotAllowed)
}

func unroutedNode(method string, rest []string) *fault {
	if len(rest) > 0 && rest[0] != "" {
		if subcollections[rest[0]] {
			return routeFault(http.StatusNotFound)
		}
		if !isIdent(rest[0]) {
			return routeFault(http.StatusBadRequest)
		}
	}
	if len(rest) > 1 {
		switch rest[1] {
		case "states", "management", "maintenance":
			return routeFault(http.StatusMethodNotAllowed)
		case "ports":
			return malformed(method)
		}
		if subcollections[rest[1]] {
			return routeFault(http.StatusNotFound)
		}
		if method == http.MethodDelete {
			return notFound("The resource could not be found.")
		}
	}
	return malformed(method)
}

func unroutedPort(method string) *fault { return malformed(method) }

// malformed is the answer where an argument too many or too few meets a method
// that the controller has.
func malformed(method string) *fault {
	if method == http.MethodPut || method == http.MethodHead {
		return routeFault(http.StatusMethodNotAllowed)
	}
	return badRequest("Malformed request URI.")
}
