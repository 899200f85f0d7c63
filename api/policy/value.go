package policy

// Values are credentials or a target: texts, booleans, numbers, nil, lists and
// objects by name.
type Values map[string]any
