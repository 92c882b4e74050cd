// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL as Swift can call it: its function-like macros and type-safe stacks as inline functions.
#pragma once
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static inline int openssl_set_versions(SSL_CTX *context, int lowest, int highest) {
    return SSL_CTX_set_min_proto_version(context, lowest) == 1 && SSL_CTX_set_max_proto_version(context, highest) == 1;
}
/// No renegotiation (RFC 5246 §7.4.1.1), compression or tickets; the server chooses the cipher.
static inline void openssl_set_options(SSL_CTX *context) {
    SSL_CTX_set_options(
        context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
}
static inline void openssl_set_session_cache(SSL_CTX *context, long mode) { SSL_CTX_set_session_cache_mode(context, mode); }
static inline void openssl_set_modes(SSL_CTX *context, long modes) { SSL_CTX_set_mode(context, modes); }
static inline int openssl_set_server_name(SSL *ssl, const char *name) { return (int)SSL_set_tlsext_host_name(ssl, name); }
static inline int openssl_add_chain_certificate(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add0_chain_cert(context, certificate);
}
static inline void openssl_set_certificate_list_limit(SSL_CTX *context, long octets) {
    SSL_CTX_set_max_cert_list(context, octets);
}
static inline size_t openssl_pending(BIO *bio) { return BIO_ctrl_pending(bio); }
static inline int openssl_error_reason(unsigned long error) { return ERR_GET_REASON(error); }
static inline int openssl_error_is_system(unsigned long error) { return ERR_SYSTEM_ERROR(error); }

/// Prints a name as RFC 2253 writes it; negative: it cannot.
static inline int openssl_print_name(BIO *bio, const X509_NAME *name) { return X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253); }

/// Year, month, day, hour, minute and second of a time in UTC; 0: it is none.
static inline int openssl_time(const ASN1_TIME *time, int *parts) {
    struct tm broken;
    if (!time || ASN1_TIME_to_tm(time, &broken) != 1) return 0;
    parts[0] = broken.tm_year + 1900;
    parts[1] = broken.tm_mon + 1;
    parts[2] = broken.tm_mday;
    parts[3] = broken.tm_hour;
    parts[4] = broken.tm_min;
    parts[5] = broken.tm_sec;
    return 1;
}

// The alternative names of a certificate (RFC 5280 §4.2.1.6).
static inline int openssl_name_count(GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }

/// The kind (GEN_URI, GEN_DNS, GEN_IPADD) and the octets of a name; 0 octets for other kinds.
static inline int openssl_name(GENERAL_NAMES *names, int index, int *kind, const unsigned char **octets) {
    GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    *octets = NULL;
    if (!name) return 0;
    *kind = name->type;
    const ASN1_STRING *text = NULL;
    if (name->type == GEN_URI) text = name->d.uniformResourceIdentifier;
    if (name->type == GEN_DNS) text = name->d.dNSName;
    if (name->type == GEN_IPADD) text = name->d.iPAddress;
    if (!text) return 0;
    *octets = ASN1_STRING_get0_data(text);
    return ASN1_STRING_length(text);
}
