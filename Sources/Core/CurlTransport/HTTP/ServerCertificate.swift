import Basics
import CLibcurl
package import Transport

extension HTTPClient {
    /// The certificate that a server shows, in PEM form, whoever vouches for it. Nothing is sent to it but the handshake.
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

    /// The key of the certificate that a server shows, as something to pin; under the same terms.
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
        options.pinnedKey = nil  // the question is which key it has
        do throws(TransportError) {
            let handle = try EasyHandle(url: url, options: options)
            try handle.isolateConnection()
            try handle.set(CURLOPT_CONNECT_ONLY, 1)
            try handle.set(CURLOPT_CERTINFO, 1)
            try handle.set(CURLOPT_SSL_VERIFYPEER, 0)
            try handle.set(CURLOPT_SSL_VERIFYHOST, 0)
            // libcurl's own time-out would wait for a name resolution that hangs.
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
