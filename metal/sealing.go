package metal

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Sealing moves the credentials of one object to secrets of their own. The
// object keeps refs; a mask that is written over one keeps the ref that was
// there. What is to be sealed and what is to be deleted is gathered here. A text
// in the form of a ref is refused wherever it stands, unless it is what the
// object had there before; in a list, at any index.
type Sealing struct {
	Place    SecretPlace           // of the object
	IsSecret func(key string) bool // nil: IsSecretKey
	Pairs    bool                  // beside a path that names a credential, value is one
	Whole    bool                  // every value is secret, one by one
	Typed    bool                  // what is no text is to come back as it was (SecretValue)
	Old      any                   // the object as it was, with refs

	Puts  map[string]string // ref to the value that it stands for from now on
	Drops []string          // refs of the object's that it holds no more

	own  map[string]map[string]bool // refs that the object had before, and where (spot)
	kept map[string]bool            // refs that it has now
}

// Move is value with refs for its credentials.
func (s *Sealing) Move(value any) (any, error) {
	if s.IsSecret == nil {
		s.IsSecret = IsSecretKey
	}
	s.own, s.kept, s.Puts = map[string]map[string]bool{}, map[string]bool{}, map[string]string{}
	s.noteOld(s.Old, nil)
	// First what stays, so that nothing new takes the ref of what has moved.
	value, err := s.walk(value, s.Old, nil, s.Whole, s.keep)
	if err != nil {
		return nil, err
	}
	moved, err := s.walk(value, s.Old, nil, s.Whole, s.put)
	if err != nil {
		return nil, err
	}
	for _, ref := range slices.Sorted(maps.Keys(s.own)) {
		if !s.kept[ref] {
			s.Drops = append(s.Drops, ref)
		}
	}
	return moved, nil
}

// noteOld notes the object's own refs below v, which stands at path.
func (s *Sealing) noteOld(v any, path []string) {
	switch t := v.(type) {
	case map[string]any:
		for k, item := range t {
			s.noteOld(item, append(slices.Clip(path), k))
		}
	case []any:
		for i, item := range t {
			s.noteOld(item, append(slices.Clip(path), fmt.Sprint(i)))
		}
	case string:
		if s.Place.Holds(t) {
			if s.own[t] == nil {
				s.own[t] = map[string]bool{}
			}
			s.own[t][spot(path)] = true
		}
	}
}

// spot is a path without the numbers in it: an item of a list may have moved.
func spot(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		if parts[i] = url.PathEscape(p); strings.Trim(p, "0123456789") == "" {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// walk has leaf replace each credential below v; old is what stood at the same
// place, secret whether the key above is one.
func (s *Sealing) walk(v, old any, path []string, secret bool, leaf func(v, old any, path []string) (any, error)) (any, error) {
	switch t := v.(type) {
	case map[string]any:
		oldMap, _ := old.(map[string]any)
		paired := s.Pairs && namesSecret(t["path"])
		for k, item := range t {
			if err := RefuseRef(k); err != nil {
				return nil, err
			}
			isSecret := s.Whole || s.IsSecret(k) || paired && k == "value"
			moved, err := s.walk(item, oldMap[k], append(slices.Clip(path), k), isSecret, leaf)
			if err != nil {
				return nil, err
			}
			t[k] = moved
		}
		return t, nil
	case []any:
		if secret && !s.Whole {
			return leaf(v, old, path)
		}
		oldList, _ := old.([]any)
		for i, item := range t {
			var before any
			if i < len(oldList) {
				before = oldList[i]
			}
			isSecret := s.Whole || s.Pairs && i > 0 && namesSecret(t[i-1])
			moved, err := s.walk(item, before, append(slices.Clip(path), fmt.Sprint(i)), isSecret, leaf)
			if err != nil {
				return nil, err
			}
			t[i] = moved
		}
		return t, nil
	}
	if text, ok := v.(string); ok && IsSecretRef(text) {
		if !s.own[text][spot(path)] {
			return nil, RefuseRef(text)
		}
		s.kept[text] = true
		return v, nil
	}
	if !secret {
		return v, nil
	}
	return leaf(v, old, path)
}

// namesSecret reports whether a path leads to a credential.
func namesSecret(path any) bool {
	text, _ := path.(string)
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '.' }), IsDriverInfoSecret)
}

// keep puts the ref that was there in the place of a mask.
func (s *Sealing) keep(v, old any, _ []string) (any, error) {
	if before, ok := old.(string); ok && s.own[before] != nil && v == any(Masked) {
		s.kept[before] = true
		return before, nil
	}
	return v, nil
}

// put gives a credential a ref.
func (s *Sealing) put(v, old any, path []string) (any, error) {
	text, isText := v.(string)
	if v == nil || isText && text == "" {
		return v, nil
	}
	if text == Masked && old == nil && len(s.own) == 0 {
		return nil, Errorf(Invalid, "%s is %s, which stands for a credential in answers and is none itself. "+
			"Give the credential, or leave it out.", strings.Join(path, "/"), Masked)
	}
	ref := s.ref(path)
	if !isText {
		if err := RefuseRefs(v); err != nil {
			return nil, err
		}
		text = string(ToJSON(v))
		if s.Typed {
			ref += typedSecret
		}
	}
	for s.kept[ref] {
		ref += "~"
	}
	s.kept[ref] = true
	s.Puts[ref] = text
	return ref, nil
}

// typedSecret ends the ref of a value that is no text: sealed is its JSON. No
// segment of a path has this sign.
const typedSecret = "#json"

// SecretValue is what the secret under ref stands for.
func SecretValue(ref, text string) any {
	if !strings.HasSuffix(strings.TrimRight(ref, "~"), typedSecret) {
		return text
	}
	var v any
	if err := JSON(text).Decode(&v); err != nil {
		return text
	}
	return v
}

func (s *Sealing) ref(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = url.PathEscape(p)
	}
	return s.Place.Below(strings.Join(parts, "/")).Ref()
}

// SealNode moves the credentials that driver_info and instance_info have got
// since before.
func SealNode(before, after *Node) ([]*Sealing, error) {
	var all []*Sealing
	for _, f := range []struct {
		place    SecretPlace
		old, now *JSON
		isSecret func(key string) bool
	}{
		{DriverInfoSecrets(after.UUID), &before.DriverInfo, &after.DriverInfo, IsDriverInfoSecret},
		{InstanceInfoSecrets(after.UUID), &before.InstanceInfo, &after.InstanceInfo, IsSecretKey},
	} {
		if *f.old == *f.now {
			continue
		}
		s := &Sealing{Place: f.place, IsSecret: f.isSecret, Old: f.old.Object()}
		moved, err := s.Move(f.now.Object())
		if err != nil {
			return nil, err
		}
		*f.now = ToJSON(moved)
		all = append(all, s)
	}
	return all, nil
}

// SecretRefs are the refs anywhere in v.
func SecretRefs(v any) []string {
	var refs []string
	switch t := v.(type) {
	case map[string]any:
		for _, item := range t {
			refs = append(refs, SecretRefs(item)...)
		}
	case []any:
		for _, item := range t {
			refs = append(refs, SecretRefs(item)...)
		}
	case string:
		if IsSecretRef(t) {
			refs = append(refs, t)
		}
	}
	return refs
}

// ReplaceRefs has what replace gives in the place of each ref below v.
func ReplaceRefs(v any, replace func(ref string) (any, error)) (any, error) {
	var err error
	switch t := v.(type) {
	case map[string]any:
		for k, item := range t {
			if t[k], err = ReplaceRefs(item, replace); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, item := range t {
			if t[i], err = ReplaceRefs(item, replace); err != nil {
				return nil, err
			}
		}
	case string:
		if IsSecretRef(t) {
			return replace(t)
		}
	}
	return v, nil
}
