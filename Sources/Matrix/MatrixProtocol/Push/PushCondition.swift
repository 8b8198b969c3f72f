import JSONBytes

/// A condition of a push rule (client-server specification, "Conditions for push rules").
enum PushCondition: Sendable {
    case eventMatch(path: [String], GlobPattern, isWords: Bool)
    case eventPropertyIs(path: [String], Scalar)
    case eventPropertyContains(path: [String], Scalar)
    case containsDisplayName
    case roomMemberCount(Comparison, Int)
    case senderNotificationPermission(key: String)
    /// An unknown or malformed condition: the rule does not match.
    case never

    enum Scalar: Sendable, Hashable {
        case text(String)
        case number(Int)
        case truth(Bool)
        case null

        init?(_ json: JSONView) {
            if let text = json.string {
                self = .text(text)
            } else if let truth = json.bool {
                self = .truth(truth)
            } else if let number = json.int {
                self = .number(number)
            } else if json.isNull {
                self = .null
            } else {
                return nil
            }
        }
    }

    enum Comparison: Sendable, Hashable {
        case equal, less, greater, atMost, atLeast

        func holds(_ lhs: Int, _ rhs: Int) -> Bool {
            switch self {
            case .equal: lhs == rhs
            case .less: lhs < rhs
            case .greater: lhs > rhs
            case .atMost: lhs <= rhs
            case .atLeast: lhs >= rhs
            }
        }
    }

    init(_ json: JSONView) {
        let path = json["key"]?.string.map(Self.path)
        switch json["kind"]?.string {
        case "event_match":
            guard let path, let text = json["pattern"]?.string, let pattern = GlobPattern(text) else { break }
            self = .eventMatch(path: path, pattern, isWords: path == ["content", "body"])
            return
        case "event_property_is":
            guard let path, let value = json["value"].flatMap(Scalar.init) else { break }
            self = .eventPropertyIs(path: path, value)
            return
        case "event_property_contains":
            guard let path, let value = json["value"].flatMap(Scalar.init) else { break }
            self = .eventPropertyContains(path: path, value)
            return
        case "contains_display_name":
            self = .containsDisplayName
            return
        case "room_member_count":
            guard let (comparison, count) = json["is"]?.string.flatMap(Self.comparison) else { break }
            self = .roomMemberCount(comparison, count)
            return
        case "sender_notification_permission":
            guard let key = json["key"]?.string else { break }
            self = .senderNotificationPermission(key: key)
            return
        default: break
        }
        self = .never
    }

    /// Splits a key: `content.m\.relates_to.rel_type` has three parts. A backslash that does not precede a dot or
    /// another backslash is literal.
    static func path(_ key: String) -> [String] {
        var parts: [String] = []
        var part = ""
        var isEscaped = false
        for character in key.unicodeScalars {
            if isEscaped {
                if character != ".", character != "\\" { part.unicodeScalars.append("\\") }
                part.unicodeScalars.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "." {
                parts.append(part)
                part = ""
            } else {
                part.unicodeScalars.append(character)
            }
        }
        return parts + [isEscaped ? part + "\\" : part]
    }

    private static func comparison(_ text: String) -> (Comparison, Int)? {
        let signs: [(String, Comparison)] = [
            ("==", .equal), ("<=", .atMost), (">=", .atLeast), ("<", .less), (">", .greater), ("", .equal),
        ]
        guard let (sign, comparison) = signs.first(where: { text.hasPrefix($0.0) }) else { return nil }
        let digits = text.dropFirst(sign.count)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(digits).map { (comparison, $0) }
    }
}
