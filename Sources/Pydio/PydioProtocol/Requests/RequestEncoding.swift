import Basics
import Foundation
package import Transport

/// How a request is authorised.
package enum RequestPass: Hashable, Sendable, Confidential {
    /// By a session's cookies and its token against forged requests.
    case session(cookies: String?, secureToken: String?)
    /// By a key pair: `nonce` must not have a colon.
    case signed(KeystoreToken, nonce: String)
    /// By name and password.
    case basic(User)

    package var description: String { "an authorisation" }
}

extension PydioRequest {
    /// What is the same for all requests.
    package struct Settings: Sendable {
        package var userAgent: String
        /// How long nothing may move, and how long connecting may take.
        package var timeout: Duration
        /// How long nothing may move in transfers of files.
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

    /// - Parameter boundary: What separates the parts of a multipart body; must not occur in the file.
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
            // The server would take a guest's session for a login.
            fields["Ajxp-Force-Login"] = "true"
            if let cookies { fields["Cookie"] = cookies }
        case .signed(let token, let nonce):
            path = try restTarget(server)
            let signature: [(name: String, value: String)] = [
                ("auth_token", token.token), ("auth_hash", token.hash(path: path, nonce: nonce)),
            ]
            var parameters = restParameters
            // The REST interface takes a body as it comes for the file, unless it is told.
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

    /// Whether the path ends with the action's name. The REST interface takes a question mark right behind it for a part of
    /// the name, and answers nothing; a slash between them belongs to neither the path nor its signature.
    private func endsWithAction(_ pass: RequestPass) -> Bool {
        switch pass {
        case .session: return false
        case .signed, .basic:
            // Version 2 has no actions in its addresses.
            if let rest { return !rest.isVersion2 && rest.path.pathSegments.count == 2 }
            return pathParameters.allSatisfy { segments(of: $0).isEmpty }
        }
    }

    /// It is sent, but not signed.
    private var endsWithSlash: Bool { rest?.path.hasSuffix("/") ?? false }

    /// Without what is in the path.
    private var restParameters: [String: PydioParameter] {
        var rest = parameters.filter { name, _ in
            name != "tmp_repository_id" && (!pathParameters.contains(name) || segments(of: name).isEmpty)
        }
        // It finds what to delete in these alone.
        if action == "delete", case .list(let nodes) = rest.removeValue(forKey: "nodes") {
            if nodes.count == 1 {
                rest["file"] = .text(nodes[0])
            } else {
                for (index, node) in nodes.enumerated() { rest["file_\(index)"] = .text(node) }
            }
        }
        return rest
    }

    /// A parameter as a part of a path; nothing of the root.
    private func segments(of name: String) -> [String] {
        switch parameters[name] {
        case .text(let text): text.pathSegments
        case .list(let texts): texts.flatMap(\.pathSegments)
        case nil: []
        }
    }

    /// The path of the request, each segment encoded as the server will when it checks the signature.
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
        // The name is a parameter: what is said here does not matter.
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
