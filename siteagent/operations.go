package siteagent

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ferrule/drivers"
	"ferrule/metal"
	"ferrule/siteagent/configdrive"
	"ferrule/siteagent/ramdisk"
	"ferrule/siteagent/refusal"
	"ferrule/siteagent/watch"
)

// ownOperations are those that the agent carries out without a driver.
var ownOperations = []metal.Operation{metal.MediaPublish, metal.MediaRetract, metal.RamdiskCall}

// secrets are a command's secrets in clear, by their refs. They live as long
// as the command runs.
type secrets map[string][]byte

// fetchSecrets gets what the command names. While the control plane cannot be
// reached it waits, but not beyond the command's end.
func (e *executor) fetchSecrets(ctx context.Context, cmd metal.Command) (secrets, error) {
	refs := cmd.Request.SecretRefs()
	if len(refs) == 0 {
		return nil, nil
	}
	// The control plane has looked at this too; the agent believes nobody.
	if err := cmd.Request.CheckSecrets(cmd.NodeUUID); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithDeadline(ctx, cmd.ExpiresAt)
	defer cancel()
	got := secrets{}
	for _, ref := range refs {
		var err error
		if got[ref], err = e.link.FetchSecret(ctx, cmd.ID, ref); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// decode reads a command's arguments.
func decode(cmd metal.Command, args any) error {
	text := cmd.Request.ArgsJSON
	if len(text) == 0 {
		text = []byte("{}")
	}
	if err := json.Unmarshal(text, args); err != nil {
		return refusal.New(metal.CodeInvalidArgs, "the arguments of %s are not as expected: %s", cmd.Request.Operation, err)
	}
	return nil
}

// dispatch does an operation of the agent's own, or has the driver do it.
func (e *executor) dispatch(ctx context.Context, cmd metal.Command, s secrets) metal.CommandResult {
	switch {
	case cmd.Kind == metal.KindWatch:
		return resultOf(nil, e.lease(cmd, s))
	case cmd.Request.Operation == metal.MediaPublish:
		return resultOf(e.publish(ctx, cmd, s))
	case cmd.Request.Operation == metal.MediaRetract:
		return resultOf(nil, e.retract(ctx, cmd))
	case cmd.Request.Operation == metal.RamdiskCall:
		return resultOf(e.callRamdisk(ctx, cmd, s))
	case cmd.Request.Driver == "":
		return failure(metal.CodeUnsupportedOperation, fmt.Sprintf("this agent cannot do %s", cmd.Request.Operation))
	case cmd.Request.Operation == metal.CredentialRotate:
		return e.rotate(ctx, cmd, s)
	default:
		return e.drivers.Execute(ctx, cmd.Request, s.credentials(cmd.Request.CredentialsRef))
	}
}

// resultOf is the result of an own operation: value may be nil.
func resultOf(value any, err error) metal.CommandResult {
	if err != nil {
		return failure(refusal.CodeOf(err, metal.CodeBMCError), err.Error())
	}
	if value == nil {
		return metal.CommandResult{OK: true}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return failure(metal.CodeBMCError, "the result cannot be written as JSON: "+err.Error())
	}
	return metal.CommandResult{OK: true, ResultJSON: text}
}

func (s secrets) wipe() {
	for _, value := range s {
		clear(value)
	}
}

// credentials reads a BMC account; no ref means none.
func (s secrets) credentials(ref string) drivers.Credentials {
	if ref == "" {
		return drivers.Credentials{}
	}
	return drivers.ParseCredentials(s[ref])
}

func (e *executor) rotate(ctx context.Context, cmd metal.Command, s secrets) metal.CommandResult {
	var args metal.RotateCredentialArgs
	if err := s.decode(cmd, &args); err != nil {
		return resultOf(nil, err)
	}
	return e.drivers.Rotate(ctx, cmd.Request, s.credentials(cmd.Request.CredentialsRef), drivers.ParseCredentials([]byte(args.NewCredentials)))
}

func (e *executor) publish(ctx context.Context, cmd metal.Command, s secrets) (any, error) {
	var args metal.PublishMediaArgs
	if err := s.decode(cmd, &args); err != nil {
		return nil, err
	}
	token := args.Token
	args.Token = "" // the shelf keeps the arguments, and not the token
	url, err := e.media.Publish(ctx, args, token, e.base())
	if err != nil {
		return nil, err
	}
	return metal.PublishMediaResult{URL: url}, nil
}

func (e *executor) retract(ctx context.Context, cmd metal.Command) error {
	var args metal.RetractMediaArgs
	if err := decode(cmd, &args); err != nil {
		return err
	}
	return e.media.Retract(ctx, args.Name)
}

// answerMargin is how long before its command expires a call of the ramdisk ends,
// so that the answer reaches the control plane while it is still awaited.
const answerMargin = 30 * time.Second

func (e *executor) callRamdisk(ctx context.Context, cmd metal.Command, s secrets) (any, error) {
	var args metal.RamdiskCallArgs
	if err := s.decode(cmd, &args); err != nil {
		return nil, err
	}
	call := ramdisk.Call{
		AgentURL: args.AgentURL, VerifyCA: args.VerifyCA, Token: args.Token,
		Command: args.Command, Params: args.Params, Wait: args.Wait, Until: cmd.ExpiresAt.Add(-answerMargin),
	}
	for ref, value := range s {
		call.Secrets = append(append(call.Secrets, string(value)), textsIn(metal.SecretValue(ref, string(value)))...)
	}
	if args.ConfigDrive {
		drive, err := e.configDrive(ctx, args, string(s[cmd.Request.Secrets[metal.ConfigDriveParam]]))
		if err != nil {
			return nil, err
		}
		call.Secrets = append(call.Secrets, drive)
		if err := placeAt(map[string]any{"params": call.Params}, metal.ConfigDriveParam, drive); err != nil {
			return nil, err
		}
	}
	return e.ramdisk.Do(ctx, call)
}

// configDrive is the config drive as the ramdisk takes it: one that is given as
// a description is built here.
func (e *executor) configDrive(ctx context.Context, args metal.RamdiskCallArgs, value string) (string, error) {
	if !configdrive.IsDescription([]byte(value)) {
		return value, nil
	}
	node, _ := args.Params["node"].(map[string]any)
	uuid, _ := node["uuid"].(string)
	name, _ := node["name"].(string)
	return configdrive.Build(ctx, []byte(value), configdrive.Node{UUID: uuid, Name: name}, e.workDir)
}

// decode reads a command's arguments with the values of its secret parameters
// in their places. They are put nowhere else: a text in the arguments that looks
// like a ref is a text.
func (s secrets) decode(cmd metal.Command, args any) error {
	if len(cmd.Request.Secrets) == 0 {
		return decode(cmd, args)
	}
	var document any
	if err := metal.JSON(cmd.Request.ArgsJSON).Decode(&document); err != nil {
		return refusal.New(metal.CodeInvalidArgs, "the arguments of %s are not as expected: %s", cmd.Request.Operation, err)
	}
	for pointer, ref := range cmd.Request.Secrets {
		if err := placeAt(document, pointer, metal.SecretValue(ref, string(s[ref]))); err != nil {
			return err
		}
	}
	cmd.Request.ArgsJSON = []byte(metal.ToJSON(document))
	defer clear(cmd.Request.ArgsJSON)
	return decode(cmd, args)
}

// textsIn are all texts in a value.
func textsIn(v any) []string {
	var texts []string
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			texts = append(texts, textsIn(item)...)
		}
	case map[string]any:
		for _, item := range v {
			texts = append(texts, textsIn(item)...)
		}
	}
	return texts
}

// placeAt sets the member or item at a JSON pointer (RFC 6901). What is around
// it must be there; of a list, the item too.
func placeAt(document any, pointer string, value any) error {
	missing := refusal.New(metal.CodeInvalidArgs, "the arguments have no place at %q", pointer)
	tokens := strings.Split(pointer, "/")[1:]
	at := document
	for i, token := range tokens {
		last := i == len(tokens)-1
		switch holder := at.(type) {
		case map[string]any:
			key := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
			if last {
				holder[key] = value
				return nil
			}
			at = holder[key]
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(holder) {
				return missing
			}
			if last {
				holder[n] = value
				return nil
			}
			at = holder[n]
		default:
			return missing
		}
	}
	return missing
}

// lease has the power watch look at the command's BMC. The credentials are
// kept until the lease ends.
func (e *executor) lease(cmd metal.Command, s secrets) error {
	var args metal.WatchArgs
	if err := decode(cmd, &args); err != nil {
		return err
	}
	creds := s.credentials(cmd.Request.CredentialsRef)
	req := cmd.Request
	req.ArgsJSON = nil
	bmc := bmcLane(req)
	e.watch.Lease(watch.Lease{
		NodeUUID: cmd.NodeUUID, Target: targetOf(req),
		Interval: time.Duration(args.IntervalSeconds) * time.Second,
		Length:   time.Duration(args.LeaseSeconds) * time.Second,
		Read: func(ctx context.Context) (watch.Reading, bool) {
			var reading watch.Reading
			ok := e.lanes.try(bmc, func() {
				reading = e.readPower(ctx, req, creds)
				e.lanes.silences.note(bmc.key, reading.Code)
			})
			return reading, ok
		},
		Silent: func() bool { return e.lanes.silences.silent(bmc.key) },
	})
	return nil
}

// targetOf is everything in a request that says which BMC is read, and how.
func targetOf(req metal.Request) string {
	return strings.Join([]string{req.Driver, req.Address, req.CredentialsRef, req.TLSSPKISHA256, string(req.DriverOptionsJSON)}, "\n")
}

func (e *executor) readPower(ctx context.Context, req metal.Request, creds drivers.Credentials) (reading watch.Reading) {
	defer func() {
		if p := recover(); p != nil {
			reading = watch.Reading{Code: metal.CodeBMCError, Message: fmt.Sprintf("reading the power of %s panicked: %v", req.Address, p)}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	result := e.drivers.Execute(ctx, req, creds)
	if !result.OK {
		return watch.Reading{Code: result.ErrorCode, Message: result.Message}
	}
	var power metal.PowerResult
	if err := json.Unmarshal(result.ResultJSON, &power); err != nil {
		return watch.Reading{Code: metal.CodeBMCError, Message: "the driver's reading of the power is not as expected"}
	}
	return watch.Reading{State: power.State, Health: power.Health}
}

// readTimeout bounds one look of the power watch.
const readTimeout = 90 * time.Second
