import Basics
import CLibcurl
import Foundation
import Transport

/// One libcurl transfer. Owns the handle; used on the I/O thread only.
@NetworkActor
final class EasyHandle {
    let raw: UnsafeMutableRawPointer
    /// `host:port` of the URL, for messages.
    let server: String
    /// Whether the options contain a proxy; the environment may do so as well.
    private let hasProxy: Bool
    private let pinnedKey: PublicKeyPin?
    private let errorText: UnsafeMutablePointer<CChar>
    private var lists: [UnsafeMutablePointer<curl_slist>] = []
    private var share: UnsafeMutableRawPointer?
    /// Set when the transfer is no longer needed, so that it opens no socket.
    private let isAbandoned: UnsafeMutablePointer<Int32>

    /// Check this before any other use of libcurl, which would set up libcrypto in its own way.
    static let isInitialized = LibCrypto.isReady && curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// - Parameter url: `http` or `https`.
    init(url: String, options: NetworkOptions) throws(TransportError) {
        guard let components = URLComponents(string: url), let host = components.bracketedHost, !host.isEmpty,
            let scheme = components.scheme?.lowercased(), scheme == "http" || scheme == "https"
        else { throw TransportError(.invalidRequest, "the URL cannot be used: it needs http or https and a host") }
        guard Self.isInitialized, let raw = curl_easy_init() else {
            throw TransportError(.couldNotConnect, "libcurl is out of memory")
        }
        self.raw = raw
        // A zone as it is typed (RFC 4007, section 11), not escaped as in a URL.
        server = "\(host.replacing("%25", with: "%")):\(components.port ?? (scheme == "https" ? 443 : 80))"
        hasProxy = options.proxy?.isEmpty == false
        pinnedKey = options.pinnedKey
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        isAbandoned = .allocate(capacity: 1)
        isAbandoned.initialize(to: 0)
        // libcurl would read a non-ASCII name in the character set of the locale.
        try set(CURLOPT_URL, components.encodedHost == components.percentEncodedHost ? url : components.string ?? url)
        try configure(options)
        if let pinnedKey {
            guard scheme == "https" else {
                throw TransportError(
                    .invalidRequest, "a pinned key needs TLS, but the connection to \(server) does not use it")
            }
            try trust(only: pinnedKey)
        }
    }

    isolated deinit {
        curl_easy_cleanup(raw)
        if let share { curl_share_cleanup(share) }
        for list in lists { curl_slist_free_all(list) }
        errorText.deallocate()
        isAbandoned.deallocate()
    }

    /// Sets the options common to all transfers.
    private func configure(_ options: NetworkOptions) throws(TransportError) {
        try set(CURLOPT_ERRORBUFFER, pointer: errorText)
        try set(CURLOPT_NOSIGNAL, 1)
        try check(curl_easy_set_open_socket(raw, isAbandoned))
        try set(CURLoption(rawValue: 181), 1 | 2)  // CURLOPT_PROTOCOLS: http and https; deprecated in favour of 7.85's
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try check(curl_easy_require_alternative_names(raw))
        // The path is signed as it is, but libcurl would remove dot segments.
        try set(CURLOPT_PATH_AS_IS, 1)
        // Clients that return together share a look-up, but the old address of a server that has moved is not kept for
        // libcurl's 60 s. The system resolver, which knows the records' TTL, does any longer caching.
        try set(CURLOPT_DNS_CACHE_TIMEOUT, 1)
        // The head start of IPv6 addresses; since libcurl 8.16, of each address.
        try set(CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, 200)
        if let addresses = options.addresses { try set(CURLOPT_RESOLVE, list: [addresses]) }
        try set(CURLOPT_TCP_NODELAY, 1)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try trust(options)
        if let proxy = options.proxy {
            guard proxy.isEmpty || URLComponents(string: proxy)?.host?.isEmpty == false else {
                throw TransportError(.invalidRequest, "the proxy is not a URL with a host")
            }
            try set(CURLOPT_PROXY, proxy)
            // no_proxy applies only to proxies of the environment.
            if !proxy.isEmpty { try set(CURLOPT_NOPROXY, "") }
        }
    }

    /// Sets the trusted certificates of the server and of a proxy that uses TLS.
    private func trust(_ options: NetworkOptions) throws(TransportError) {
        try set(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
        try set(CURLOPT_PROXY_SSL_VERIFYHOST, 2)
        try set(CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let caFile = options.caFile {
            guard FileManager.default.isReadableFile(atPath: caFile) else {
                throw TransportError(.invalidRequest, "the CA file \(caFile) cannot be read")
            }
            for option in [CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO] { try set(option, caFile) }
            // libcurl would also trust the system's folder.
            for option in [CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH] { try set(option, pointer: nil) }
        }
        if let trusted = options.trustedCertificate {
            // libcurl uses it instead of a file, so it must include the file's contents.
            let file = options.caFile ?? curl_default_ca_file().map { String(cString: $0) }
            let others = file.flatMap { FileManager.default.contents(atPath: $0) } ?? Data()
            let bytes = Array(others) + Array("\n\(trusted)".utf8)
            try check(bytes.withUnsafeBytes { curl_easy_set_authorities(raw, $0.baseAddress, $0.count) })
        }
    }

    /// libcurl compares the key at the end of the TLS handshake, before any of our data is sent, whether or not it
    /// verifies the certificate. A kept-alive connection serves only transfers with the same pin.
    private func trust(only key: PublicKeyPin) throws(TransportError) {
        try set(CURLOPT_PINNEDPUBLICKEY, key.description)
        // Each connection presents the key again instead of resuming an earlier session.
        try set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        try set(CURLOPT_CERTINFO, 1)  // to report the server's key
        try set(CURLOPT_SSL_VERIFYPEER, 0)
        try set(CURLOPT_SSL_VERIFYHOST, 0)
    }

    // MARK: Options

    func set(_ option: CURLoption, _ value: Int) throws(TransportError) {
        try check(curl_easy_setopt_long(raw, option, value))
    }

    /// libcurl copies the string.
    func set(_ option: CURLoption, _ value: String) throws(TransportError) {
        guard !value.utf8.contains(0) else { throw TransportError(.invalidRequest, "an option contains a zero byte") }
        try check(curl_easy_setopt_string(raw, option, value))
    }

    /// The pointer must stay valid as long as the handle.
    func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) throws(TransportError) {
        try check(curl_easy_setopt_pointer(raw, option, pointer))
    }

    func set(_ option: CURLoption, callback: curl_shim_data_callback) throws(TransportError) {
        try check(curl_easy_setopt_data_callback(raw, option, callback))
    }

    func set(_ option: CURLoption, seek callback: curl_shim_seek_callback) throws(TransportError) {
        try check(curl_easy_setopt_seek_callback(raw, option, callback))
    }

    func set(_ option: CURLoption, offset value: Int64) throws(TransportError) {
        try check(curl_easy_setopt_off_t(raw, option, curl_off_t(value)))
    }

    /// Gives the transfer its own connection cache.
    ///
    /// libcurl keeps a connection that it has handed out (`CONNECT_ONLY`) among the idle ones. There it is closed after
    /// two minutes when another is opened, and `curl_easy_recv` and `curl_easy_send` search all of them at every call.
    func isolateConnection() throws(TransportError) {
        guard share == nil, let share = curl_share_init() else { return }
        self.share = share
        curl_share_connections(share)
        try set(CURLOPT_SHARE, pointer: share)
    }

    func setFields(_ fields: HTTPFields) throws(TransportError) {
        try fields.validate()
        // libcurl reads “name;” as an empty value, and “name:” as none.
        let lines = fields.fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        // Without the first one, libcurl waits a second for `100 Continue` before it sends a larger body.
        try set(CURLOPT_HTTPHEADER, list: ["Expect:"] + lines)
    }

    /// libcurl copies the strings, not the list.
    private func set(_ option: CURLoption, list strings: [String]) throws(TransportError) {
        var list: UnsafeMutablePointer<curl_slist>?
        for string in strings { list = curl_slist_append(list, string) }
        guard let list else { return }
        lists.append(list)
        try check(curl_easy_setopt_list(raw, option, list))
    }

    private func check(_ result: CURLcode) throws(TransportError) {
        guard result == CURLE_OK else {
            throw TransportError(
                .invalidRequest, "libcurl refuses an option: \(String(cString: curl_easy_strerror(result)))")
        }
    }

    /// Reuses no connection that has been idle since before this time, because it may be dead.
    func useConnections(since moment: MonotonicInstant, now: MonotonicInstant) throws(TransportError) {
        // libcurl compares whole seconds of idle time, rounded down.
        let seconds = Int(max((now - moment) / .seconds(1), 0))
        if seconds == 0 {
            try set(CURLOPT_FRESH_CONNECT, 1)
        } else {
            try set(CURLOPT_MAXAGE_CONN, min(seconds - 1, Self.maximumIdleSeconds))
        }
    }

    /// libcurl's default.
    private static let maximumIdleSeconds = 118

    /// Whether a transfer followed a redirect to another host.
    static func isRedirected(_ raw: UnsafeMutableRawPointer) -> Bool {
        var count = 0
        return curl_easy_getinfo_long(raw, CURLINFO_REDIRECT_COUNT, &count) == CURLE_OK && count > 0
    }

    /// Whether the connection is established, so that the exchange can begin.
    var isConnected: Bool { time(CURLINFO_PRETRANSFER_TIME_T) != nil }

    /// Abandons the transfer. A pending name look-up ends it.
    func abandon() {
        isAbandoned.pointee = 1
    }

    // MARK: Results

    func info(_ info: CURLINFO) -> Int {
        var value = 0
        return curl_easy_getinfo_long(raw, info, &value) == CURLE_OK ? value : 0
    }

    var times: ConnectionTimes {
        var address: UnsafePointer<CChar>?
        _ = curl_easy_getinfo_text(raw, CURLINFO_PRIMARY_IP, &address)
        return ConnectionTimes(
            address: address.map { String(cString: $0) } ?? "", nameLookup: time(CURLINFO_NAMELOOKUP_TIME_T),
            connect: time(CURLINFO_CONNECT_TIME_T), tls: time(CURLINFO_APPCONNECT_TIME_T))
    }

    private func time(_ info: CURLINFO) -> Duration? {
        var microseconds: curl_off_t = 0
        guard curl_easy_getinfo_off_t(raw, info, &microseconds) == CURLE_OK, microseconds > 0 else { return nil }
        return .microseconds(microseconds)
    }

    /// The PEM text of the server's certificate (`CURLOPT_CERTINFO`).
    var serverCertificate: String? {
        var chain: UnsafeMutablePointer<curl_certinfo>?
        guard curl_easy_getinfo_certificates(raw, &chain) == CURLE_OK, let chain, chain.pointee.num_of_certs > 0 else {
            return nil
        }
        var field = chain.pointee.certinfo[0]
        while let current = field {
            let text = current.pointee.data.map { String(cString: $0) } ?? ""
            if text.hasPrefix("Cert:") { return String(text.dropFirst(5)) }
            field = current.pointee.next
        }
        return nil
    }

    var activeSocket: Int32? {
        var descriptor = curl_socket_t(-1)
        guard curl_easy_getinfo_socket(raw, CURLINFO_ACTIVESOCKET, &descriptor) == CURLE_OK, descriptor >= 0 else {
            return nil
        }
        return descriptor
    }

    func timedOut(after time: Duration) -> TransportError {
        let seconds = time / .seconds(1)
        let limit = "\(Int(exactly: seconds).map(String.init) ?? "\(seconds)") s"
        return TransportError(
            .timedOut,
            isConnected ? "\(server) took longer than \(limit)" : "no connection to \(server) within \(limit)")
    }

    /// - Parameter rate: Bytes per second.
    func tooSlow(_ rate: Int) -> TransportError {
        TransportError(.timedOut, "\(server) has sent and taken less than \(rate) bytes a second")
    }

    /// Returns the error for a failed transfer. Its message contains neither the URL's query nor credentials.
    func error(for result: CURLcode) -> TransportError {
        let detail = String(cString: errorText)
        let words = detail.isEmpty ? String(cString: curl_easy_strerror(result)) : detail
        let connectCode = info(CURLINFO_HTTP_CONNECTCODE)
        guard connectCode == 0 || (200..<300).contains(connectCode) else {
            return TransportError(.proxy, "the proxy refused to connect to \(server): it answered \(connectCode)")
        }
        switch result {
        case CURLE_COULDNT_RESOLVE_HOST:
            return TransportError(.couldNotResolve, "the host of \(server) cannot be resolved")
        case CURLE_COULDNT_RESOLVE_PROXY:
            let host = words.firstMatch(of: #/proxy: (\S+)/#).map { " \($0.1)" } ?? ""
            return TransportError(.proxy, "the host of the proxy\(host) cannot be resolved")
        case CURLE_PROXY: return TransportError(.proxy, "the proxy does not connect to \(server): \(words)")
        case CURLE_COULDNT_CONNECT:
            let number = info(CURLINFO_OS_ERRNO)
            let reason = number == 0 ? words : String(cString: strerror(Int32(number)))
            return isAboutProxy(words)
                ? TransportError(.proxy, "cannot connect to the proxy\(Self.whom(words)), for \(server): \(reason)")
                : TransportError(.couldNotConnect, "cannot connect to \(server): \(reason)")
        case CURLE_PARTIAL_FILE: return TransportError(.connectionLost, "the answer of \(server) broke off")
        // libcurl collects a header line and reports a lack of memory if it is too long; since 8.6, CURLE_TOO_LARGE.
        case CURLE_OUT_OF_MEMORY where isConnected, CURLcode(rawValue: 100):
            return TransportError(.tooLarge, "\(server) answered with a header line of more than 100 KiB")
        case CURLE_OPERATION_TIMEDOUT: return TransportError(.timedOut, "\(server) took too long")
        case CURLE_SEND_FAIL_REWIND:
            return TransportError(
                .connectionLost,
                "the connection to \(server) broke before the answer came; the request may have arrived, and is not sent again"
            )
        case CURLE_PEER_FAILED_VERIFICATION:
            return info(CURLINFO_PROXY_SSL_VERIFYRESULT) == 0
                ? certificateError(words)
                : TransportError(.proxy, "the certificate of the proxy is not trusted: \(words)")
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            let shown = serverCertificate.flatMap { PublicKeyPin(certificate: $0) }
            return TransportError(
                .certificateWrongKey,
                "the key of \(server) is not the pinned one: expected \(pinnedKey?.description ?? "another"), "
                    + "the server showed \(shown?.description ?? "none that can be read"); nothing was sent")
        case CURLE_SSL_CACERT_BADFILE:
            return TransportError(.invalidRequest, "the CA file holds no usable certificates")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_INITFAILED:
            return TransportError(.tls, "TLS with \(server) failed: \(Self.reasonOfTLS(words))")
        case CURLE_UNSUPPORTED_PROTOCOL where isConnected:  // libcurl sees it as HTTP/0.9
            return TransportError(.connectionLost, "\(server) does not answer in HTTP")
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            return TransportError(.invalidRequest, "the URL cannot be used")
        default:
            let reason = words.replacing(#/^(Send|Recv) failure: /#, with: "")
            return TransportError(.connectionLost, "the connection to \(server) failed: \(reason)")
        }
    }

    /// Returns the message of libcurl and OpenSSL without internal numbers and names.
    private static func reasonOfTLS(_ words: String) -> String {
        if words.contains(#/wrong version number|packet length too long|http request/#) {
            return "it does not seem to speak TLS on this port"
        }
        if words.contains("SSL_ERROR_SYSCALL") { return "it closed the connection" }
        return words.replacing(#/^.*error:[0-9A-Fa-f]+:[^:]*:[^:]*:/#, with: "")
            .replacing(#/^OpenSSL[^:]*: /#, with: "")
    }

    /// Returns the target of the connection attempt as ` host:port`; empty if libcurl does not report it.
    private static func whom(_ words: String) -> String {
        words.firstMatch(of: #/to (\S+) port (\d+)/#).map { " \($0.1):\($0.2)" } ?? ""
    }

    /// Whether a failed connection was one to a proxy. libcurl reports this only since 8.7, but mentions the target.
    private func isAboutProxy(_ words: String) -> Bool {
        if hasProxy { return true }
        guard let port = server.lastIndex(of: ":"), words.contains(" port ") else { return false }
        // libcurl reports an IPv6 address without its zone.
        let host = server[..<port].drop { $0 == "[" }.prefix { $0 != "]" && $0 != "%" }
        return !words.contains("to \(host) port \(server[port...].dropFirst()) ")
    }

    /// OpenSSL's verification result shows what is wrong; the numbers are its `X509_V_ERR_…`.
    private func certificateError(_ words: String) -> TransportError {
        switch info(CURLINFO_SSL_VERIFYRESULT) {
        case 10:
            TransportError(.certificateExpired, "the certificate of \(server) has expired")
        case 50:  // our own (curl_shim_verify)
            TransportError(
                .certificateWrongHost,
                "the certificate of \(server) names no host: it has no subject alternative name, and the common name does not count"
            )
        case 18, 19:
            TransportError(.certificateUntrusted, "the certificate of \(server) is not trusted: it is self-signed")
        case 2, 20, 21, 27:
            TransportError(
                .certificateUntrusted, "the certificate of \(server) is not trusted: its authority is unknown")
        case 0, 1, 62:  // libcurl compares names itself; OpenSSL then has no result, or an unspecified one
            TransportError(.certificateWrongHost, "the certificate of \(server) is for another host")
        case let code:
            TransportError(.tls, "the certificate of \(server) cannot be accepted: \(words) (OpenSSL code \(code))")
        }
    }
}
