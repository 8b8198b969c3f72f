import Basics
import CLibcurl
package import Transport

extension HTTPClient {
    /// Returns the certificate that a server presents, in PEM form, without checking its issuer. Sends only the
    /// handshake.
    package static func certificate(
        of url: String, options: NetworkOptions, timeout: Duration
    ) async throws(TransportError) -> String {
        let result = await withCheckedContinuation { continuation in
            NetworkActor.execute {
                probe(url, options, timeout) { continuation.resume(returning: $0) }
            }
        }
        return try result.get()
    }

    /// Returns the key of the certificate that a server presents, for pinning. Sends nothing but the handshake.
    package static func key(
        of url: String, options: NetworkOptions, timeout: Duration
    ) async throws(TransportError) -> PublicKeyPin {
        let certificate = try await certificate(of: url, options: options, timeout: timeout)
        guard let key = PublicKeyPin(certificate: certificate) else {
            throw TransportError(.tls, "the certificate that the server shows cannot be read")
        }
        return key
    }

    @NetworkActor
    private static func probe(
        _ url: String, _ options: NetworkOptions, _ timeout: Duration,
        _ completion: @escaping @NetworkActor (Result<String, TransportError>) -> Void
    ) {
        var options = options
        options.pinnedKey = nil  // to find out the server's key
        do throws(TransportError) {
            let handle = try EasyHandle(url: url, options: options)
            try handle.isolateConnection()
            try handle.set(CURLOPT_CONNECT_ONLY, 1)
            try handle.set(CURLOPT_CERTINFO, 1)
            try handle.set(CURLOPT_SSL_VERIFYPEER, 0)
            try handle.set(CURLOPT_SSL_VERIFYHOST, 0)
            // libcurl's own timeout would wait for a name resolution that hangs.
            var timer: NetworkTimer?
            timer = NetworkTimer {
                timer = nil
                CurlMulti.shared.abandon(handle, owner: handle)
                completion(.failure(handle.timedOut(after: timeout)))
            }
            timer?.set(.now + timeout)
            try CurlMulti.shared.add(handle, connectLimit: timeout) { result in
                timer = nil
                let certificate = handle.serverCertificate
                CurlMulti.shared.remove(handle)
                guard result == CURLE_OK, let certificate else {
                    let error =
                        result == CURLE_OK
                        ? TransportError(.tls, "\(handle.server) shows no certificate") : handle.error(for: result)
                    return completion(.failure(error))
                }
                completion(.success(certificate))
            }
        } catch {
            completion(.failure(error))
        }
    }
}
