package import Foundation

extension AnswerRecogniser where Value == [WorkspaceResponse] {
    /// The list of workspaces (6.1).
    package static let workspaces = Self("the request for the workspaces") { body in
        Match(body.root.flatMap { WorkspaceResponse.list(in: $0) })
    }
}

extension AnswerRecogniser where Value == [NodeResponse] {
    /// A folder with its entries (6.2); empty if the user may write but not read.
    package static let listing = Self("the request for a folder's contents") { body in
        Match(body.root.flatMap { NodeResponse.listing(in: $0) })
    }
}

extension AnswerRecogniser where Value == PydioSuccessResponse {
    /// A success message, which comes first (6.3).
    package static func success(of action: String) -> Self {
        Self(action) { Match($0.root.flatMap { PydioSuccessResponse(answer: $0) }) }
    }

    /// Like `success`, but also accepts an empty answer.
    package static func successOrNothing(of action: String) -> Self {
        Self(action) { body in
            if body.isBlank { return .value(PydioSuccessResponse()) }
            guard let root = body.root, root.name == "tree" else { return .other }
            return .value(PydioSuccessResponse(answer: root) ?? PydioSuccessResponse(rest: root))
        }
    }

    /// The changes, without a message; errors are text with a number (6.7).
    package static let upload = Self("the upload") { body in
        if let root = body.root, root.name == "tree" {
            if let answer = PydioSuccessResponse(answer: root) { return .value(answer) }
            // PHP discards a request that is too large for it.
            if root.children.isEmpty, root.attributes.isEmpty { return .serverError(PydioError.lostUpload) }
            return root.children.first?.name == "nodes_diff" ? .value(PydioSuccessResponse(rest: root)) : .other
        }
        guard body.mimeType == "text/html" || body.mimeType == "text/plain", body.bytes.count < 2000,
            body.text.wholeMatch(of: /[^<]*\(\d{3}\)/.dotMatchesNewlines()) != nil
        else { return .other }
        return .serverError(body.text)
    }

    /// A sentence, or a number for the reason of a failure (section 7).
    package static let putContent = Self("the new content of a file") { body in
        guard body.mimeType == "text/plain", !body.isBlank, !body.text.hasPrefix("<") else {
            // A failed server or proxy sends a page, or nothing.
            return Match(body.root.flatMap { PydioSuccessResponse(answer: $0) })
        }
        switch body.text {
        case "1001": return .serverError("the file is not writeable (1001)")
        case "1002": return .serverError("there is no such file (1002)")
        case let text: return text.count > 1000 ? .other : .value(PydioSuccessResponse(message: text))
        }
    }
}

extension AnswerRecogniser where Value == Data {
    /// Bytes of any type other than a document.
    package static func bytes(of action: String) -> Self {
        Self(action) { $0.document == nil && $0.mimeType != "text/html" ? .value(Data($0.bytes)) : .other }
    }

    /// Unmodified JSON.
    package static func json(of action: String) -> Self {
        Self(action) { $0.document == nil && $0.json != nil ? .value(Data($0.bytes)) : .other }
    }

    /// An image (4.3).
    package static let captcha = Self("the request for the captcha's image") { body in
        body.mimeType.hasPrefix("image/") && !body.bytes.isEmpty ? .value(Data(body.bytes)) : .other
    }
}

extension AnswerRecogniser where Value == Void {
    /// An empty answer, or a document without an error.
    package static func nothing(for action: String) -> Self {
        Self(action) { $0.isBlank || $0.root != nil ? .value(()) : .other }
    }
}

extension AnswerRecogniser where Value == XMLNode {
    /// Any document.
    package static func document(of action: String) -> Self {
        Self(action) { Match($0.root) }
    }
}

extension AnswerRecogniser where Value == [PydioBookmark] {
    /// The user's bookmarks (section 7).
    package static let bookmarks = Self("the request for the bookmarks") { body in
        guard let root = body.root, root.name == "tree" else { return .other }
        return .value(
            root.children("bookmark").compactMap { bookmark in
                bookmark["path"].map { PydioBookmark(path: $0, title: bookmark["title"] ?? "") }
            })
    }
}

extension AnswerRecogniser where Value == PydioNodeStat? {
    /// A node's properties in the server's file system; `nil` if there is no such node (section 7).
    package static let stat = Self("the request for a node's properties") { Match(stat: $0) }
}

extension AnswerRecogniser.Match where Value == PydioNodeStat? {
    init(stat body: AnswerBody) {
        guard body.document == nil, let json = body.json else {
            self = .other
            return
        }
        // PHP also writes an empty object as an empty list.
        if let list = json as? [Any], list.isEmpty {
            self = .value(nil)
        } else if let values = json as? [String: Any] {
            self = values.isEmpty ? .value(nil) : PydioNodeStat(json: values).map { .value($0) } ?? .incomplete
        } else {
            self = .other
        }
    }
}

extension AnswerRecogniser where Value == [ChannelMessage] {
    /// The messages that waited in a mailbox; none if the answer is empty (8.1).
    package static let messages = Self("the request for messages") { body in
        if body.isBlank { return .value([]) }
        return Match(body.root.flatMap { ChannelMessage.list(in: $0) })
    }
}
