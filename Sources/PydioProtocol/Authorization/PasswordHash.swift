import Basics

/// What is sent for a password (4.2).
enum PasswordHash {
    /// The seed of a server that wants the password itself.
    static let clearSeed = "-1"

    /// - Returns: The password if the seed says so, else `md5hex(md5hex(password) + seed)`.
    static func value(password: String, seed: String) -> String {
        seed == clearSeed ? password : md5(md5(password) + seed)
    }

    static func md5(_ text: String) -> String {
        Digest.md5(Array(text.utf8)).hexadecimal
    }
}
