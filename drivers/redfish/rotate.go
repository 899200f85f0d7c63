package redfish

import (
	"context"
	"errors"
	"net/http"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// RotateCredential gives the target's own account the password of next. Proof
// is a login with it from scratch: changing the password of the account in use
// ends its sessions on many BMCs. The old password is then tried once.
func (d *Driver) RotateCredential(ctx context.Context, t driver.Target, next driver.Credentials) (metal.RotateCredentialResult, error) {
	return call(ctx, d, t, func(c *client) (metal.RotateCredentialResult, error) {
		account := c.access.credentials.Username
		if next.Username != "" && next.Username != account {
			return metal.RotateCredentialResult{}, driver.Errorf(metal.CodeInvalidArgs, "a rotation keeps the account; this one would turn %q into %q", account, next.Username)
		}
		if next.Password == "" || next.Password == c.access.credentials.Password {
			return metal.RotateCredentialResult{}, driver.Errorf(metal.CodeInvalidArgs, "the new password of %q is empty or the old one", account)
		}
		c.transport.next = next
		changeErr := c.changePassword(next.Password)
		var accepted *acceptedError
		if changeErr != nil && driver.CodeOf(changeErr) != metal.CodeOutcomeUnknown && !errors.As(changeErr, &accepted) {
			return metal.RotateCredentialResult{}, changeErr
		}
		renewed, old := c.access, c.access
		renewed.credentials.Password = next.Password
		renewed.auth, old.auth = authBasic, authBasic
		if err := d.tryLogin(ctx, renewed, c); err != nil {
			if changeErr != nil {
				return metal.RotateCredentialResult{}, changeErr
			}
			return metal.RotateCredentialResult{}, driver.Errorf(driver.CodeOf(err), "BMC %s took the new password of user %q, but a login with it fails; the old one stays current: %w", c.access.address, account, err)
		}
		c.logOut(ctx) // a session of the old password would outlive it on some BMCs
		// One attempt only: a second could lock the account.
		refused := driver.CodeOf(d.tryLogin(ctx, old, c)) == metal.CodeAuthFailed
		if !refused {
			c.log.Warn("the BMC still takes the old password after a rotation")
		}
		return metal.RotateCredentialResult{Verified: true, OldRefused: refused}, nil
	})
}

// tryLogin reads the System over a connection of its own.
func (d *Driver) tryLogin(ctx context.Context, a access, holder *client) error {
	fresh, err := newClient(a, d)
	if err != nil {
		return err
	}
	fresh.begin(ctx, a.system)
	fresh.findings.system = holder.findings.system
	defer fresh.logOut(ctx)
	_, err = fresh.system()
	return err
}

// changePassword finds the account by its name, as slots are fixed on many
// BMCs, and writes the password to it. A BMC that wants its factory password
// changed first names the account in its refusal.
func (c *client) changePassword(password string) error {
	account, err := c.ownAccount()
	if err != nil {
		return err
	}
	err = c.patch(account, map[string]any{"Password": password})
	var r *refusal
	target, _ := action(account, "ManagerAccount.ChangePassword")
	if target == "" || !errors.As(err, &r) || !r.notWritable() {
		return err
	}
	path, pathErr := c.localPath(target)
	if pathErr != nil {
		return pathErr
	}
	return c.post(path, map[string]any{"NewPassword": password, "SessionAccountPassword": c.access.credentials.Password})
}

func (c *client) ownAccount() (document, error) {
	accounts, err := c.accounts()
	var r *refusal
	if errors.As(err, &r) && r.is("PasswordChangeRequired") {
		for _, w := range r.words {
			for _, arg := range w.args {
				if path, err := c.localPath(arg); err == nil {
					return c.get(path)
				}
			}
		}
	}
	if err != nil {
		return document{}, err
	}
	for _, a := range accounts {
		if a.text("UserName") == c.access.credentials.Username {
			return a, nil
		}
	}
	return document{}, driver.Errorf(metal.CodeUnsupported, "BMC %s lists no account of user %q", c.access.address, c.access.credentials.Username)
}

func (c *client) accounts() ([]document, error) {
	service, err := c.get(root + "/AccountService")
	var r *refusal
	if errors.As(err, &r) && r.status == http.StatusNotFound {
		return nil, driver.Errorf(metal.CodeUnsupported, "BMC %s has no AccountService: %w", c.access.address, r)
	}
	if err != nil {
		return nil, err
	}
	link := service.link("Accounts")
	if link == "" {
		link = root + "/AccountService/Accounts"
	}
	return c.members(link)
}
