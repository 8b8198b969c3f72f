import Basics

/// What is sent for a password (4.2).
package enum PasswordHash {
    /// The seed of a server that wants the password itself.
    package static let clearSeed = "-1"

    /// - Returns: The password if the seed says so, else `md5hex(md5hex(password) + seed)`.
    package static func value(password: String, seed: String) -> String {
        seed == clearSeed ? password : md5(md5(password) + seed)
    }

    /// The same of a password that is to be valid from now on: what the server will compare with (section 7).
    package static func new(password: String, seed: String) -> String {
        seed == clearSeed ? password : md5(password)
    }

    static func md5(_ text: String) -> String {
        Digest.md5(Array(text.utf8)).hexadecimal
    }
}
