package v1

import (
	"net/http"
	"strings"
)

// allowed are the methods that a 405 names, by the controller that the path
// reaches.
const (
	treeMethods        = "DELETE, GET, PATCH, POST"
	maintenanceMethods = "DELETE, PUT"
	consoleMethods     = "GET, PUT"
	mediaMethods       = "DELETE, GET, POST"
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
		return malformed(method)
	case "drivers", "conductors":
		if method == http.MethodGet {
			return badRequest("Unexpected arguments in the path.")
		}
		return notAllowed(http.MethodGet)
	case "heartbeat", "continue_inspection":
		if method == http.MethodPost {
			return badRequest("Unexpected or missing arguments in the path.")
		}
		return notAllowed(http.MethodPost)
	case "lookup":
		return notAllowed(http.MethodGet)
	case "":
		return faultf(http.StatusMethodNotAllowed, "The method %s is not allowed.", method)
	}
	if f := unroutedResource(method, segments); f != nil {
		return f
	}
	return routeFault(http.StatusNotFound)
}

func unroutedNode(method string, rest []string) *fault {
	if len(rest) > 0 && rest[0] != "" {
		if subcollections[rest[0]] {
			return routeFault(http.StatusNotFound)
		}
		if !isIdent(rest[0]) {
			return &fault{Status: http.StatusBadRequest, Text: "Expected UUID or name for node: " + rest[0], Routed: true}
		}
	}
	if len(rest) < 2 {
		return malformed(method)
	}
	switch word := rest[1]; {
	case rest[0] == "detail" && method == http.MethodGet:
		return notFound("The resource could not be found.")
	case word == "states" && len(rest) == 3 && rest[2] == "console":
		return notAllowed(consoleMethods)
	case word == "states":
		return notAllowed(http.MethodGet)
	case word == "vifs" && len(rest) == 2 && method == http.MethodDelete:
		return badRequest("Missing mandatory parameter: vif_id")
	case word == "vifs", word == "vmedia":
		return notAllowed(mediaMethods)
	case word == "maintenance":
		return notAllowed(maintenanceMethods)
	case word == "management":
		return notAllowed("")
	case word == "portgroups" && len(rest) > 3 && rest[3] == "ports" && method == http.MethodGet:
		return faultf(http.StatusForbidden, "Operation not permitted: node, portgroup and shard cannot be combined.")
	case word == "ports", word == "portgroups":
		return malformed(method)
	case word == "volume":
		return unroutedVolume(method, rest[2:])
	case unroutedPart(word) != nil:
		return unroutedPart(word)
	case subcollections[word]:
		return routeFault(http.StatusNotFound)
	case method == http.MethodDelete:
		return notFound("The resource could not be found.")
	}
	return malformed(method)
}

// malformed is the answer where an argument too many or too few meets a method
// that the controller has.
func malformed(method string) *fault {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete:
		return badRequest("Malformed request URI.")
	}
	return notAllowed(treeMethods)
}
