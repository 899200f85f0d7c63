package redfish

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/common"
)

// refusal is an error answer of a BMC, in its own words.
type refusal struct {
	status int
	words  []word
}

// word is one message of an error answer.
type word struct {
	id         string // MessageId without its registry: "PropertyUnknown"
	text       string
	args       []string
	related    []string // properties, as JSON pointers
	resolution string
}

func (r *refusal) Error() string {
	if said := r.said(); said != "" {
		return fmt.Sprintf("%d: %s", r.status, said)
	}
	return fmt.Sprintf("%d %s", r.status, http.StatusText(r.status))
}

// maxSaid bounds how much of a BMC's words is repeated.
const maxSaid = 500

// said joins the BMC's words, ids where there is no text.
func (r *refusal) said() string {
	var parts []string
	for _, w := range r.words {
		part := w.text
		if part == "" {
			part = w.id
		}
		if w.resolution != "" && !strings.EqualFold(w.resolution, "none") && !strings.EqualFold(w.resolution, "none.") {
			part += " (" + w.resolution + ")"
		}
		parts = append(parts, part)
	}
	said := strings.Join(strings.Fields(strings.Join(parts, "; ")), " ")
	if len(said) > maxSaid {
		said = strings.ToValidUTF8(said[:maxSaid], "") + " …"
	}
	return said
}

// refusalOf reads gofish's error leaf by leaf from the body as it came: gofish
// itself drops all of it when one leaf has an odd type, and related properties
// always.
func refusalOf(e *common.Error) *refusal {
	r := &refusal{status: e.HTTPReturnedStatusCode}
	body := strings.TrimPrefix(e.Error(), fmt.Sprintf("%d: ", r.status))
	doc, ok := decode([]byte(body))
	switch {
	case ok && doc.has("error"):
		r.words = wordsOf(doc.child("error"))
	case ok:
		r.words = wordsOf(doc)
	case !strings.HasPrefix(strings.TrimSpace(body), "<"): // a page of HTML says no more than the status
		r.words = []word{{text: body}}
	}
	return r
}

func wordsOf(e fields) []word {
	var words []word
	for _, raw := range e.list("@Message.ExtendedInfo") {
		info, ok := decode(raw)
		if !ok {
			continue
		}
		words = append(words, word{
			id:         bareID(info.text("MessageId")),
			text:       info.text("Message"),
			args:       info.texts("MessageArgs"),
			related:    info.texts("RelatedProperties"),
			resolution: info.text("Resolution"),
		})
	}
	if !slices.ContainsFunc(words, func(w word) bool { return w.text != "" }) {
		words = append(words, word{id: bareID(e.text("code")), text: e.text("message")})
	}
	return words
}

// bareID cuts the registry from a message id: Base.1.8.PropertyUnknown.
func bareID(id string) string {
	if i := strings.LastIndexByte(id, '.'); i >= 0 {
		return id[i+1:]
	}
	return id
}

// is reports whether any message has one of the ids.
func (r *refusal) is(ids ...string) bool {
	for _, w := range r.words {
		for _, id := range ids {
			if w.id == id || strings.Contains(w.text, id) {
				return true
			}
		}
	}
	return false
}

// names reports whether any message names a property.
func (r *refusal) names(property string) bool {
	for _, w := range r.words {
		if strings.Contains(w.text, property) {
			return true
		}
		for _, a := range append(w.args, w.related...) {
			if strings.Contains(a, property) {
				return true
			}
		}
	}
	return false
}

// transient is a BMC that is starting or busy and says so.
func (r *refusal) transient() bool {
	return r.is("SWC0700", "SYS518", "SYS446", "ServiceTemporarilyUnavailable", "ServiceInUnknownState", "ServiceShuttingDown",
		"ResourceNotReady", "NotReadyForOperation", "iDRACNotReady")
}

// duringPOST is a machine in its self-test, which takes no change.
func (r *refusal) duringPOST() bool {
	return r.is("UnableToModifyDuringSystemPOST", "UnableToModifyDuringPOST")
}

// sessionLimit is a BMC whose session slots are all taken.
func (r *refusal) sessionLimit() bool {
	if r.is("SessionLimitExceeded", "CreateLimitReachedForResource", "RAC0218", "MaximumSessions") {
		return true
	}
	said := strings.ToLower(r.said())
	return strings.Contains(said, "session") && (strings.Contains(said, "maximum") || strings.Contains(said, "limit"))
}

// rejectsProperty is a write refused for a property that is unknown or cannot
// be written, where the BMC names it or an annotation of it.
func (r *refusal) rejectsProperty(property string) bool {
	return r.is("PropertyUnknown", "PropertyNotWritable", "PropertyValueNotInList", "ActionParameterUnknown", "ActionParameterNotSupported",
		"ActionParameterDuplicate", "PropertyNotUpdated", "PropertyValueConflict", "PropertyModificationNotSupported") && r.names(property)
}

// wantsProperty is a write refused for the lack of a property.
func (r *refusal) wantsProperty(property string) bool {
	missing := r.is("PropertyMissing", "ActionParameterMissing", "CreateFailedMissingReqProperties", "ParameterMissing") ||
		r.is("GeneralError") || strings.Contains(strings.ToLower(r.said()), "missing") || strings.Contains(strings.ToLower(r.said()), "require")
	return missing && r.names(property)
}

// notWritable is a resource that takes no such write at all.
func (r *refusal) notWritable() bool {
	return r.status == http.StatusMethodNotAllowed || r.is("PropertyNotWritable", "ResourceCannotBeModified", "OperationNotAllowed")
}
