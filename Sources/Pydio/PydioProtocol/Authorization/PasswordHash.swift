import Basics

/// The form in which a password is sent (4.2).
package enum PasswordHash {
    /// The seed of a server that requires the password itself.
    package static let clearSeed = "-1"

    /// - Returns: The password if the seed is ``clearSeed``, otherwise `md5hex(md5hex(password) + seed)`.
    package static func value(password: String, seed: String) -> String {
        seed == clearSeed ? password : md5(md5(password) + seed)
    }

    /// Returns the form of a new password, which the server will compare with (section 7).
    package static func new(password: String, seed: String) -> String {
        seed == clearSeed ? password : md5(password)
    }

    static func md5(_ text: String) -> String {
        Digest.md5(Array(text.utf8)).hexadecimal
    }
}
