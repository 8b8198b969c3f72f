import Foundation

/// An error in the user's terms: it names options instead of library APIs.
package enum Complaint {
    package static func text(_ error: any Error) -> String {
        switch error {
        case let error as any ReportableError:
            text([error.description, error.advice].compactMap(\.self).joined(separator: ": "))
        // Its own text repeats the input.
        case is DecodingError: "the server's answer cannot be read"
        case is CancellationError: CommandFailure.interrupted.description
        case let error as NSError where error.domain == NSCocoaErrorDomain: file(error)
        default: text("\(error)")
        }
    }

    /// Rewrites a message of the library in the user's terms.
    package static func text(_ message: String) -> String {
        var message = message
        for (words, better) in translations { message = message.replacing(words, with: better) }
        // --tls applies only to the server.
        if message.contains("auth endpoint") {
            message = message.replacing("try --tls if this port expects TLS", with: "try https:// if it expects TLS")
        }
        return message.replacing(#/ ?\([a-z]+(?:[A-Z][a-z]+)+\)/#, with: "")
    }

    /// Rewrites a message about the command line, including those of ArgumentParser, in the common style, to follow
    /// `error:`.
    package static func text(wrongUse message: String) -> String {
        let first = message.prefix { $0.isLetter || $0 == "'" }
        // A name in capitals, such as EVENT, stays as it is.
        let isWord = first.count == 1 || first.dropFirst().contains(where: \.isLowercase)
        let text = isWord ? first.prefix(1).lowercased() + message.dropFirst() : message
        return text.hasSuffix(".") && !text.hasSuffix("..") ? String(text.dropLast()) : text
    }

    private static let translations = [
        (
            "the client has no auth method",
            "nothing says how to sign for it: give the secret with PUSHER_SECRET, or an endpoint with --auth-endpoint"
        ),
        (
            "the client has no userAuthMethod",
            "nothing says who you are: give --user-id and PUSHER_SECRET, or an endpoint with --user-auth-endpoint"
        ),
        (
            "encryptionMasterKey is not set, or not base64 of 32 bytes",
            "the encryption master key is missing, or is not base64 of 32 bytes: give it with "
                + "PUSHER_ENCRYPTION_MASTER_KEY"
        ),
        (
            "an encrypted channel needs an encryptionMasterKey",
            "an encrypted channel needs the encryption master key: give it with PUSHER_ENCRYPTION_MASTER_KEY"
        ),
        ("the encryptionMasterKey is", "the encryption master key is"),
        (
            "the endpoint lacks the application's encryption master key",
            "the endpoint lacks the application's encryption master key; pusher-cli serve and auth-server take it with "
                + "PUSHER_ENCRYPTION_MASTER_KEY (or --encryption-master-key)"
        ),
        (
            "the server answered: an HTML page (HTTP status 404)",
            "the server answered with an HTML page (HTTP status 404): the HTTP API is not there, check --host, --port and "
                + "--path"
        ),
        ("larger than maximumMessageSize allows", "larger than this command takes"),
        ("does not seem to speak TLS on this port", "does not seem to speak TLS on this port: try --no-tls"),
        // The reaction of a TLS server to a request in plain text.
        (
            "closed the connection without answering the WebSocket handshake",
            "closed the connection without answering the WebSocket handshake: try --tls if this port expects TLS"
        ),
        (
            "failed: Empty reply from server",
            "failed: the server closed it without an answer: try --tls if this port expects TLS"
        ),
        ("set it up first", "create it with pusher-cli relay setup"),
        ("set it up again", "create it again with pusher-cli relay setup"),
        (
            "give the prefix of its subjects, or name another stream",
            "use --prefix with what its subjects begin with, or another --stream"
        ),
        ("the member's userInfo", "--user-info"),
        ("the user's userInfo", "--user-info"),
    ]

    private static func file(_ error: NSError) -> String {
        let path = (error.userInfo[NSFilePathErrorKey] as? String).map { " \($0)" } ?? ""
        let reason = (error.userInfo[NSUnderlyingErrorKey] as? NSError).flatMap { reason -> String? in
            reason.domain == NSPOSIXErrorDomain ? String(cString: strerror(Int32(reason.code))) : nil
        }
        return "the file\(path) cannot be used" + (reason.map { ": \($0)" } ?? "")
    }
}
