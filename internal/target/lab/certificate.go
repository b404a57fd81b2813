package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	"github.com/weir-bench/weir/internal/plan"
)

// An authority signs the certificates of one lab. Its key is in memory alone.
type authority struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

// validity of a lab's certificates: longer than any run.
const validity = 365 * 24 * time.Hour

// certificates returns what plan.CA or plan.Identity stands for.
func (l *lab) certificates(what string) (string, error) {
	if l.ca == nil {
		ca, err := newAuthority()
		if err != nil {
			return "", err
		}
		l.ca = ca
	}
	if what == plan.CA {
		return inPEM("CERTIFICATE", l.ca.Raw), nil
	}
	return l.ca.identity()
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{&x509.Certificate{Subject: pkix.Name{CommonName: "weir"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, key}
	der, err := a.sign(a.Certificate, &key.PublicKey)
	if err == nil {
		a.Certificate, err = x509.ParseCertificate(der)
	}
	return a, err
}

// sign returns a certificate (DER) as in template, valid from an hour ago: clocks of virtual machines differ.
func (a *authority) sign(template *x509.Certificate, key *ecdsa.PublicKey) (der []byte, err error) {
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return nil, err
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(validity)
	return x509.CreateCertificate(rand.Reader, template, a.Certificate, key, a.key)
}

func (a *authority) identity() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	der, err := a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: plan.IdentityName}, DNSNames: []string{plan.IdentityName},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, &key.PublicKey)
	return inPEM("PRIVATE KEY", secret) + inPEM("CERTIFICATE", der), err
}

func inPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
