import Basics
import Transport

/// Who logs in at a server.
public struct User: Sendable, Hashable {
    /// The name.
    public let userid: String
    /// In the clear.
    public let password: String

    /// See the properties.
    public init(userid: String, password: String) {
        (self.userid, self.password) = (userid, password)
    }

    /// The same under the original's name.
    public static func user(withId userid: String, andPassword password: String) -> User {
        User(userid: userid, password: password)
    }
}

extension User: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name alone.
    public var description: String { userid }
    /// The name alone.
    public var debugDescription: String { userid }
    /// Nothing: reflection would show the password.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
