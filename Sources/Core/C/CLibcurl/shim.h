// libcurl's setters and getters are variadic, which Swift cannot call: one wrapper for each type of argument.
#pragma once
#include <curl/curl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

static inline CURLcode curl_easy_setopt_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_easy_setopt_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_easy_setopt_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_easy_setopt_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

typedef size_t (*curl_shim_data_callback)(char *data, size_t size, size_t count, void *context);

static inline CURLcode curl_easy_setopt_data_callback(CURL *handle, CURLoption option, curl_shim_data_callback value) {
    return curl_easy_setopt(handle, option, value);
}

typedef int (*curl_shim_seek_callback)(void *context, curl_off_t offset, int origin);

static inline CURLcode curl_easy_setopt_seek_callback(CURL *handle, CURLoption option, curl_shim_seek_callback value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_easy_setopt_off_t(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

// A child process that inherits a socket keeps the connection open after its owner has closed it. A transfer that nobody
// waits for any more opens none.
static inline curl_socket_t curl_shim_open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    const int *isAbandoned = context;
    (void)purpose;
    if (*isAbandoned) return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// The flag must live as long as the handle.
static inline CURLcode curl_easy_set_open_socket(CURL *handle, int *isAbandoned) {
    CURLcode result = curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, isAbandoned);
    return result ? result : curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, curl_shim_open_socket);
}

// OpenSSL's check, and that the certificate names hosts as such (RFC 9525, section 2): libcurl would fall back to the common
// name, which is any text.
static inline int curl_shim_verify(X509_STORE_CTX *context, void *unused) {
    (void)unused;
    int result = X509_verify_cert(context);
    if (result <= 0) return result;
    GENERAL_NAMES *names =
        X509_get_ext_d2i(X509_STORE_CTX_get0_cert(context), NID_subject_alt_name, NULL, NULL);
    int namesHosts = 0;
    for (int index = 0; index < sk_GENERAL_NAME_num(names); index++) {
        int type = sk_GENERAL_NAME_value(names, index)->type;
        namesHosts |= type == GEN_DNS || type == GEN_IPADD;
    }
    GENERAL_NAMES_free(names);
    if (namesHosts) return result;
    X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}

static inline CURLcode curl_shim_configure_tls(CURL *handle, void *context, void *unused) {
    (void)handle, (void)unused;
    SSL_CTX_set_cert_verify_callback(context, curl_shim_verify, NULL);
    return CURLE_OK;
}

static inline CURLcode curl_easy_require_alternative_names(CURL *handle) {
    return curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, curl_shim_configure_tls);
}

static inline CURLcode curl_easy_getinfo_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode curl_easy_getinfo_off_t(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode curl_easy_getinfo_text(CURL *handle, CURLINFO info, const char **value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode curl_easy_getinfo_certificates(CURL *handle, struct curl_certinfo **value) {
    return curl_easy_getinfo(handle, CURLINFO_CERTINFO, value);
}

// The file of authorities that libcurl was built for; NULL if there is none.
static inline const char *curl_default_ca_file(void) { return curl_version_info(CURLVERSION_NOW)->cainfo; }

// CURLOPT_CAINFO_BLOB (since 7.77); libcurl copies the bytes.
static inline CURLcode curl_easy_set_authorities(CURL *handle, const void *data, size_t count) {
    struct curl_blob blob = {(void *)data, count, CURL_BLOB_COPY};
    return curl_easy_setopt(handle, CURLOPT_CAINFO_BLOB, &blob);
}

static inline CURLcode curl_easy_getinfo_socket(CURL *handle, CURLINFO info, curl_socket_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLMcode curl_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode curl_multi_setopt_socket_callback(CURLM *multi, curl_socket_callback value) {
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value);
}

static inline CURLMcode curl_multi_setopt_timer_callback(CURLM *multi, curl_multi_timer_callback value) {
    return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value);
}

static inline CURLSHcode curl_share_connections(CURLSH *share) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
}

// CURLMsg holds a union that Swift sees only as a pointer.
static inline CURLcode curl_message_result(const CURLMsg *message) { return message->data.result; }

static inline CURLMcode curl_multi_setopt_pointer(CURLM *multi, CURLMoption option, void *value) {
    return curl_multi_setopt(multi, option, value);
}
