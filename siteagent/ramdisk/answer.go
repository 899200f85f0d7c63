package ramdisk

import (
	"encoding/json"
	"net/http"
	"strings"

	"ferrule/metal"
	"ferrule/siteagent/refusal"
)

// maxFault is how much of a ramdisk's complaint is passed on.
const maxFault = 1024

// judge sorts the ramdisk's answers.
func (s *session) judge(status int, body []byte) (answer, error) {
	if status == http.StatusOK {
		return answer{body: body}, nil
	}
	fault := s.fault(body)
	if status == http.StatusConflict || strings.Contains(strings.ToLower(fault), "agent is busy") {
		return answer{busy: true}, nil
	}
	return answer{}, refusal.New(faultCode(status), "the ramdisk at %s refused %s with status %d: %s", s.endpoint, s.subject(), status, fault)
}

func (s *session) subject() string {
	if s.Command == "" {
		return "to list its commands"
	}
	return s.Command
}

func faultCode(status int) metal.ErrorCode {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return metal.CodeAuthFailed
	case http.StatusBadRequest:
		return metal.CodeInvalidArgs
	case http.StatusNotFound:
		return metal.CodeUnsupported
	default:
		return metal.CodeBMCError
	}
}

// fault is the ramdisk's own complaint, cut and without secrets: it quotes
// parameters that it does not like.
func (s *session) fault(body []byte) string {
	var complaint struct {
		Text string `json:"faultstring"`
	}
	if json.Unmarshal(body, &complaint) != nil || complaint.Text == "" {
		return "no reason given"
	}
	for _, secret := range append(s.Secrets, s.Token) {
		if secret != "" {
			complaint.Text = strings.ReplaceAll(complaint.Text, secret, metal.Masked)
		}
	}
	if len(complaint.Text) > maxFault {
		complaint.Text = strings.ToValidUTF8(complaint.Text[:maxFault], "") + "…"
	}
	return complaint.Text
}

// secretWords are keys of the ramdisk's parameters that are secret besides
// those that are so everywhere.
var secretWords = map[string]bool{"image_request_authorization": true, "auth_key": true}

// maskResult takes secrets out of what a ramdisk sends back: a step's result
// repeats the step with its arguments, and with them the config drive.
func maskResult(result *metal.RamdiskCallResult, secrets []string) {
	if result.Command != nil {
		maskCommand(result.Command, secrets)
	}
	for i := range result.Commands {
		maskCommand(&result.Commands[i], secrets)
	}
}

func maskCommand(c *metal.RamdiskCommand, secrets []string) {
	c.Result, _ = maskValue(c.Result, secrets).(map[string]any)
	c.Error, _ = maskValue(c.Error, secrets).(map[string]any)
}

func maskValue(v any, secrets []string) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if isSecret(key, member) {
				v[key] = metal.Masked
				continue
			}
			v[key] = maskValue(member, secrets)
		}
		return v
	case []any:
		for i, member := range v {
			v[i] = maskValue(member, secrets)
		}
		return v
	case string:
		for _, secret := range secrets {
			if secret != "" {
				v = strings.ReplaceAll(v, secret, metal.Masked)
			}
		}
		return v
	default:
		return v
	}
}

// isSecret reports whether a member is a credential by its name. Numbers and
// flags under such names (agent_token_required) are not.
func isSecret(key string, member any) bool {
	switch member := member.(type) {
	case nil, bool, float64, json.Number:
		return false
	case string:
		return member != "" && (metal.IsSecretKey(key) || secretWords[strings.ToLower(key)])
	default:
		return metal.IsSecretKey(key)
	}
}
