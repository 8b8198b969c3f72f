import Basics
import Foundation
package import Transport

package enum RequestPass: Hashable, Sendable, Confidential {
    /// A session's cookies and its token against forged requests.
    case session(cookies: String?, secureToken: String?)
    /// A key pair. `nonce` must not contain a colon.
    case signed(KeystoreToken, nonce: String)
    /// A name and password.
    case basic(User)

    package var description: String { "an authorisation" }
}

extension PydioRequest {
    /// The settings common to all requests.
    package struct Settings: Sendable {
        package var userAgent: String
        /// The idle timeout, and the timeout for connecting.
        package var timeout: Duration
        /// The idle timeout of file transfers.
        package var stallTimeout: Duration
        package var maximumAnswerSize: Int
        package var maximumDownloadSize: Int

        package init(
            userAgent: String, timeout: Duration = .seconds(60), stallTimeout: Duration = .seconds(60),
            maximumAnswerSize: Int = 64 << 20, maximumDownloadSize: Int = .max
        ) {
            self.userAgent = userAgent
            self.timeout = timeout
            self.stallTimeout = stallTimeout
            self.maximumAnswerSize = maximumAnswerSize
            self.maximumDownloadSize = maximumDownloadSize
        }
    }

    /// - Parameter boundary: The separator of the parts in a multipart body. Must not occur in the file.
    package func httpRequest(
        to server: ServerAddress, as pass: RequestPass, _ settings: Settings, boundary: String
    ) throws(PydioError) -> HTTPRequest {
        try validate()
        var query: [(name: String, value: String)] = []
        var form: [(name: String, value: String)] = []
        var fields: HTTPFields = ["Accept": "*/*", "User-Agent": settings.userAgent]
        let path: String
        switch pass {
        case .session(let cookies, let secureToken):
            guard rest == nil else { throw .needsKeyPair }
            path = server.path + "index.php"
            var values = parameters
            values["get_action"] = .text(action)
            if let secureToken { values["secure_token"] = .text(secureToken) }
            if upload != nil || method == .get {
                query = Self.flattened(values)
            } else {
                form = Self.flattened(values)
            }
            // The server would accept a guest's session as a login.
            fields["Ajxp-Force-Login"] = "true"
            if let cookies { fields["Cookie"] = cookies }
        case .signed(let token, let nonce):
            path = try restTarget(server)
            let signature: [(name: String, value: String)] = [
                ("auth_token", token.token), ("auth_hash", token.hash(path: path, nonce: nonce)),
            ]
            var parameters = restParameters
            // Without this, the REST interface treats the whole body as the file.
            if upload != nil { parameters["force_post"] = "true" }
            let values = Self.flattened(parameters) + signature
            if method == .post, rest?.body == nil { form = values } else { query = values }
        case .basic(let user):
            path = try restTarget(server)
            query = Self.flattened(restParameters)
            fields["Authorization"] = "Basic " + Data("\(user.userid):\(user.password)".utf8).base64EncodedString()
        }
        if let rest {
            fields["Accept"] = "application/json"
            for (name, value) in rest.fields { fields[name] = value }
        }
        let slash = endsWithSlash || !query.isEmpty && endsWithAction(pass) ? "/" : ""
        let target = path + slash + (query.isEmpty ? "" : "?" + Self.encoded(query))
        var request = HTTPRequest(
            method: method.rawValue, url: server.origin + target, fields: fields, timeout: settings.timeout,
            maximumBodySize: settings.maximumAnswerSize)
        request.acceptsCompression = answerFile == nil
        request.isSafeToRepeat = !isSentOnce
        request.stallTimeout =
            upload == nil && answerFile == nil ? settings.timeout : settings.stallTimeout
        if let upload {
            setBody(of: &request, upload, form, boundary: boundary)
        } else if let body = rest?.body {
            request.body = body.bytes
            request.fields["Content-Type"] = body.type
        } else if method == .post {
            request.body = Array(Self.encoded(form).utf8)
            request.fields["Content-Type"] = "application/x-www-form-urlencoded"
        }
        if let answerFile {
            request.answerFile = answerFile
            request.answerFileTakes = { Download.isDownload($0) }
            request.maximumFileSize = settings.maximumDownloadSize
        }
        if let range { request.fields["Range"] = range }
        return request
    }

    static func encoded(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { "\($0.name.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
    }

    /// Returns whether the path ends with the action's name. The REST interface treats a question mark directly after
    /// it as part of the name, and sends an empty answer; a slash between them belongs neither to the path nor to its
    /// signature.
    private func endsWithAction(_ pass: RequestPass) -> Bool {
        switch pass {
        case .session: return false
        case .signed, .basic:
            // Version 2 has no actions in its URLs.
            if let rest { return !rest.isVersion2 && rest.path.pathSegments.count == 2 }
            return pathParameters.allSatisfy { segments(of: $0).isEmpty }
        }
    }

    /// Whether the path ends with a slash, which is sent but not signed.
    private var endsWithSlash: Bool { rest?.path.hasSuffix("/") ?? false }

    /// The parameters that are not part of the path.
    private var restParameters: [String: PydioParameter] {
        var rest = parameters.filter { name, _ in
            name != "tmp_repository_id" && (!pathParameters.contains(name) || segments(of: name).isEmpty)
        }
        // It reads the nodes to delete only from these.
        if action == "delete", case .list(let nodes) = rest.removeValue(forKey: "nodes") {
            if nodes.count == 1 {
                rest["file"] = .text(nodes[0])
            } else {
                for (index, node) in nodes.enumerated() { rest["file_\(index)"] = .text(node) }
            }
        }
        return rest
    }

    /// Returns a parameter as segments of a path; empty for the root.
    private func segments(of name: String) -> [String] {
        switch parameters[name] {
        case .text(let text): text.pathSegments
        case .list(let texts): texts.flatMap(\.pathSegments)
        case nil: []
        }
    }

    /// Returns the path of the request, each segment encoded in the same way as the server encodes it to check the
    /// signature.
    private func restTarget(_ server: ServerAddress) throws(PydioError) -> String {
        let api = server.path + "api/"
        let place = [isGlobal ? "pydio" : workspaceId ?? "pydio"] + (restAction ?? [action])
        let names =
            rest?.path.pathSegments
            ?? place + pathParameters.flatMap { self.segments(of: $0) }
        let segments = names.map { PathSegment($0) }
        guard !segments.contains(nil), !segments.isEmpty else {
            throw PydioError(
                .invalidArgument, "\(action) needs names that are neither empty nor dots; nothing was sent")
        }
        return api + segments.compactMap { $0.map(KeystoreToken.encoded) }.joined(separator: "/")
    }

    private func setBody(
        of request: inout HTTPRequest, _ upload: Upload, _ form: [(name: String, value: String)], boundary: String
    ) {
        var before = ""
        for (name, value) in form {
            before += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
        }
        // The name is sent as a parameter, so this one does not matter.
        before += "--\(boundary)\r\nContent-Disposition: form-data; name=\"userfile_0\"; filename=\"upload\"\r\n"
        before += "Content-Type: application/octet-stream\r\n\r\n"
        let after = "\r\n--\(boundary)--\r\n"
        switch upload {
        case .bytes(let bytes): request.body = Array(before.utf8) + bytes + Array(after.utf8)
        case .file(var file):
            file.before = Array(before.utf8)
            file.after = Array(after.utf8)
            request.bodyFile = file
        }
        request.fields["Content-Type"] = "multipart/form-data; boundary=\(boundary)"
    }
}
