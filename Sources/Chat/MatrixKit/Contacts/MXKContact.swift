import Foundation

/// A user whom the account's user knows or may know.
@MainActor
open class MXKContact: MXKCellData {
    /// An identifier that stays the same for the same user.
    public let contactID: String
    /// The display name; the user id if there is none.
    public var displayName: String { didSet { sortingDisplayName = Self.sortingName(displayName) } }
    /// The name used for sorting, without leading punctuation marks.
    public var sortingDisplayName: String
    /// Whether the contact has a Matrix account. Always true: there is no address book.
    public var isMatrixContact: Bool { !matrixIdentifiers.isEmpty }
    /// Whether the contact was invited by a third-party address.
    public var isThirdPartyInvite = false
    /// The user ids of the contact.
    public let matrixIdentifiers: [String]
    /// The avatar, an `mxc:` address.
    public let matrixAvatarURL: String?

    /// Creates a contact with an account.
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

    /// Returns whether the name, a word of it, or the id starts with this prefix.
    open func hasPrefix(_ prefix: String) -> Bool {
        let options: String.CompareOptions = [.caseInsensitive, .diacriticInsensitive, .anchored]
        let words = displayName.split(whereSeparator: \.isWhitespace).map(String.init)
        let ids = matrixIdentifiers + matrixIdentifiers.map { String($0.dropFirst()) }
        return ([displayName] + words + ids).contains { $0.range(of: prefix, options: options) != nil }
    }

    /// Returns whether each pattern occurs in the name or the id.
    open func matched(withPatterns patterns: [String]) -> Bool {
        patterns.allSatisfy { pattern in
            ([displayName] + matrixIdentifiers).contains {
                $0.range(of: pattern, options: [.caseInsensitive, .diacriticInsensitive]) != nil
            }
        }
    }
}
