package redfish

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"

	"github.com/stmcginnis/gofish/common"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// explain turns whatever came of a request into the driver's error: which BMC,
// which path, what happened, what to do. Refused credentials, an unreachable
// BMC and a certificate that does not hold are told apart.
func (c *client) explain(method, path string, err error) error {
	var known *driver.Error
	if errors.As(err, &known) {
		return err
	}
	var answer *common.Error
	if errors.As(err, &answer) && answer.HTTPReturnedStatusCode != 0 {
		return c.explainRefusal(method, path, refusalOf(answer))
	}
	bmc := c.access.address
	var peer *peerError
	switch reason := certificateReason(err); {
	case reason != "":
		remedy := "install a certificate of a known CA, name its CA in redfish_verify_ca, or pin the key with redfish_tls_spki_sha256"
		if c.access.pin != "" {
			remedy = "if the BMC's certificate was renewed on purpose, set redfish_tls_spki_sha256 to the new key; otherwise somebody answers in its place"
		}
		return driver.Errorf(metal.CodeCertificate, "the certificate of BMC %s is not accepted: %s; %s", bmc, reason, remedy)
	case errors.As(err, &peer):
		return driver.Errorf(metal.CodeInvalidAddress, "BMC %s asks for plain http, and %w; use https", bmc, peer)
	case method != http.MethodGet && wasSent(err):
		return driver.Errorf(metal.CodeOutcomeUnknown, "BMC %s took %s %s and its answer was lost: %w; look at the BMC before repeating it", bmc, method, path, innermost(err))
	}
	return driver.Errorf(metal.CodeUnreachable, "BMC %s cannot be reached (%s %s): %w; check the address, the network of the site and that the BMC is up", bmc, method, path, innermost(err))
}

func (c *client) explainRefusal(method, path string, r *refusal) error {
	bmc := c.access.address
	user := c.access.credentials.Username
	switch {
	case r.is("PasswordChangeRequired"):
		return driver.Errorf(metal.CodeAuthFailed, "BMC %s wants the password of user %q changed before anything else (%s %s answered %w); rotate it or change it at the BMC", bmc, user, method, path, r)
	case r.status == http.StatusUnauthorized && user == "":
		return driver.Errorf(metal.CodeAuthFailed, "BMC %s wants credentials (%s %s answered %w); set redfish_username and redfish_password", bmc, method, path, r)
	case r.status == http.StatusUnauthorized:
		return driver.Errorf(metal.CodeAuthFailed, "BMC %s rejected the credentials of user %q (%s %s answered %w); set the right redfish_username and redfish_password", bmc, user, method, path, r)
	case r.status == http.StatusForbidden:
		return driver.Errorf(metal.CodeAuthFailed, "BMC %s does not let user %q do this (%s %s answered %w); give the account the privilege it lacks", bmc, user, method, path, r)
	case r.status >= 300 && r.status < 400:
		return driver.Errorf(metal.CodeBMCError, "BMC %s: %s %s answered with a redirect (%w), which is not followed; give the final address", bmc, method, path, r)
	case r.duringPOST():
		return driver.Errorf(metal.CodeBMCError, "BMC %s: %s %s was refused for as long as it was repeated, because the machine is in its power-on self-test (POST): %w; repeat it when the machine has booted", bmc, method, path, r)
	case r.status == http.StatusNotImplemented:
		return driver.Errorf(metal.CodeUnsupported, "BMC %s cannot do this: %s %s answered %w", bmc, method, path, r)
	case r.status == http.StatusNotFound:
		return driver.Errorf(metal.CodeBMCError, "BMC %s: %s %s answered %w; check redfish_system_id", bmc, method, path, r)
	}
	return driver.Errorf(metal.CodeBMCError, "BMC %s: %s %s answered %w", bmc, method, path, r)
}

// certificateReason says why a TLS handshake was given up on our side, or "".
func certificateReason(err error) string {
	var pin *pinError
	var verify *tls.CertificateVerificationError
	var name x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &pin):
		return pin.Error()
	case errors.As(err, &verify):
		return verify.Err.Error()
	case errors.As(err, &name):
		return name.Error()
	case errors.As(err, &unknown):
		return unknown.Error()
	case errors.As(err, &invalid):
		return invalid.Error()
	}
	return ""
}

// wasSent reports whether a request may have reached the BMC.
func wasSent(err error) bool {
	var lost *lostError
	return errors.As(err, &lost)
}

// innermost cuts the wrapping that repeats the URL.
func innermost(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the command's time was over")
	}
	return err
}
