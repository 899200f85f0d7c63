package v1

import (
	"net/http"
	"strconv"
	"time"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// historyKind is the resource of a node's history (Ironic:
// NodeHistoryController).
var historyKind = newResource(resource[metal.HistoryEntry]{
	registry: openapi.NodeHistoryFields, noun: "history", key: "history",
	uuid: func(h *metal.HistoryEntry) string { return h.UUID },
	fields: map[string]property[metal.HistoryEntry]{
		"uuid":       uuidProperty(func(h *metal.HistoryEntry) *string { return &h.UUID }),
		"created_at": timeProperty(func(h *metal.HistoryEntry) *time.Time { return &h.CreatedAt }),
		"severity":   wordProperty("severity", func(h *metal.HistoryEntry) *string { return &h.Severity }),
		"event_type": wordProperty("event_type", func(h *metal.HistoryEntry) *string { return &h.EventType }),
		"event":      wordProperty("event", func(h *metal.HistoryEntry) *string { return &h.Event }),
		"conductor":  wordProperty("conductor", func(h *metal.HistoryEntry) *string { return &h.Conductor }),
		"user":       textProperty("user", 0, func(h *metal.HistoryEntry) **string { return &h.User }),
		"project":    textProperty("project", 0, func(h *metal.HistoryEntry) **string { return &h.Project }),
		"state":      stateProperty(func(h *metal.HistoryEntry) metal.State { return h.State }),
		"target_provision_state": stateProperty(func(h *metal.HistoryEntry) metal.State {
			return h.TargetProvisionState
		}),
		"duration_seconds": {show: func(b []byte, h *metal.HistoryEntry, _ *encoding) []byte {
			return appendNullableInt(b, h.DurationSeconds)
		}},
		"links": {show: func(b []byte, h *metal.HistoryEntry, e *encoding) []byte {
			b = appendHref(append(b, `[{"href":`...), e.base, "/v1", []string{"nodes", h.NodeUUID, "history", h.UUID})
			return append(b, `,"rel":"self"}]`...)
		}},
	},
})

func stateProperty[T any](at func(v *T) metal.State) property[T] {
	return property[T]{show: func(b []byte, v *T, _ *encoding) []byte { return appendText(b, string(at(v))) }}
}

func appendNullableInt(b []byte, n *int64) []byte {
	if n == nil {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, *n, 10)
}

// Longer events are cut in a list that is not detailed.
const (
	longestEvent = 255
	cutEvent     = 251
)

func (s *Service) listHistory(c *call) error {
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	page, err := s.page(c, openapi.NodeHistoryFields, isUUIDLike)
	if err != nil {
		return err
	}
	if value(c.query.text("sort_key")) == "" {
		page.SortKey = "created_at"
	}
	detailed := c.query.flag("detail")
	// The link to the next page names no fields: this list takes none.
	l := list{page: page, collection: "nodes/" + c.Param("node") + "/history"}
	if l.fields = listView(openapi.NodeHistoryFields, c.version); detailed {
		l.fields = detailView(openapi.NodeHistoryFields, c.version)
	}
	entries, err := s.store.History(c.Request().Context(), n.UUID, store.HistoryQuery{Page: page})
	if err != nil {
		return err
	}
	for i := range entries {
		entries[i].Event = maskText(entries[i].Event)
		if text := []rune(entries[i].Event); !detailed && len(text) > longestEvent {
			entries[i].Event = string(text[:cutEvent]) + "..."
		}
	}
	return historyKind.answerList(c, l, entries)
}

func (s *Service) getHistory(c *call) error {
	event, err := c.ident("event")
	if err != nil {
		return err
	}
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	h, err := s.store.HistoryEntry(c.Request().Context(), n.UUID, event)
	if err != nil {
		return err
	}
	h.Event = maskText(h.Event)
	return historyKind.answer(c, http.StatusOK, &h)
}
