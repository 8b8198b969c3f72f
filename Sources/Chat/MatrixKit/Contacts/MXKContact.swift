import Foundation

/// Somebody whom the user knows, or could.
@MainActor
open class MXKContact: MXKCellData {
    /// Stays the same for the same user.
    public let contactID: String
    /// The name; the id for somebody without one.
    public var displayName: String { didSet { sortingDisplayName = Self.sortingName(displayName) } }
    /// The name as lists order it: without the marks that names begin with.
    public var sortingDisplayName: String
    /// Whether they have an account here. Always true: there is no address book.
    public var isMatrixContact: Bool { !matrixIdentifiers.isEmpty }
    /// Whether they were invited by an address of another kind.
    public var isThirdPartyInvite = false
    /// Ids of their accounts.
    public let matrixIdentifiers: [String]
    /// An `mxc:` address.
    public let matrixAvatarURL: String?

    /// Somebody with an account.
    public init(
        matrixContactWithDisplayName displayName: String, matrixID: String, andMatrixAvatarURL matrixAvatarURL: String?
    ) {
        contactID = "Matrix_" + matrixID
        self.displayName = displayName.isEmpty ? matrixID : displayName
        sortingDisplayName = Self.sortingName(self.displayName)
        matrixIdentifiers = [matrixID]
        self.matrixAvatarURL = matrixAvatarURL
        super.init()
    }

    private static func sortingName(_ name: String) -> String {
        let kept = name.drop { !$0.isLetter && !$0.isNumber }
        return kept.isEmpty ? name : String(kept)
    }

    /// Whether the name, a word of it, or the id begins like this.
    open func hasPrefix(_ prefix: String) -> Bool {
        let options: String.CompareOptions = [.caseInsensitive, .diacriticInsensitive, .anchored]
        let words = displayName.split(whereSeparator: \.isWhitespace).map(String.init)
        let ids = matrixIdentifiers + matrixIdentifiers.map { String($0.dropFirst()) }
        return ([displayName] + words + ids).contains { $0.range(of: prefix, options: options) != nil }
    }

    /// Whether each of these stands in the name or the id.
    open func matched(withPatterns patterns: [String]) -> Bool {
        patterns.allSatisfy { pattern in
            ([displayName] + matrixIdentifiers).contains {
                $0.range(of: pattern, options: [.caseInsensitive, .diacriticInsensitive]) != nil
            }
        }
    }
}
