import Basics
import Foundation

/// The user that a connection is signed in as (Pusher protocol, "User authentication").
package struct SignedInUser: Hashable, Sendable {
    package let id: String
    /// JSON text with `id` and other information about the user from the application's server.
    package let data: String

    /// Reads the data of `pusher:signin_success`: an object whose `user_data` is JSON text or an object.
    package init?(signinData: String?) {
        let value = signinData.flatMap(JSON.object)?["user_data"]
        let text = value as? String ?? value.flatMap(JSON.text)
        guard let text, let id = JSON.object(text)?["id"] as? String, !id.isEmpty else { return nil }
        self.id = id
        data = text
    }
}

/// Users on the signed-in user's watchlist who went online or offline (Pusher protocol, "Watchlist events").
package struct WatchlistChange: Hashable, Sendable {
    /// `online`, `offline`, or a name from a later version of the protocol.
    package let name: String
    package let userIDs: [String]
    /// The number of entries in its list that are not user ids.
    package let withoutID: Int
    /// The whole entry as JSON text.
    package let data: String

    /// Returns the entries in the data of `pusher_internal:watchlist_events`.
    package static func list(_ data: String?) throws(MalformedFrame) -> [WatchlistChange] {
        guard let entries = data.flatMap(JSON.object)?["events"] as? [Any] else {
            throw MalformedFrame(reason: "it has no list of watchlist events")
        }
        return entries.compactMap { entry in
            guard let entry = entry as? [String: Any], let name = entry["name"] as? String,
                let data = JSON.text(entry)
            else { return nil }
            let listed = entry["user_ids"] as? [Any] ?? []
            let ids = listed.compactMap(JSON.identifier).filter { !$0.isEmpty }
            return WatchlistChange(name: name, userIDs: ids, withoutID: listed.count - ids.count, data: data)
        }
    }
}

/// The answer of the application's server for a sign-in.
package struct UserAuthAnswer: Hashable, Sendable, Confidential {
    /// `key:signature`.
    package var auth: String
    /// JSON text with `id`; part of the signed text, so it is forwarded byte for byte.
    package var userData: String

    package init(auth: String, userData: String) {
        self.auth = auth
        self.userData = userData
    }

    /// Reads the body of the endpoint's answer.
    ///
    /// - Throws: The reason why it is invalid, without any text of the body.
    package init(body: [UInt8]) throws(AuthFailure) {
        let answer = try AuthObject(body: body)
        auth = try answer.required("auth")
        userData = try answer.required("user_data")
    }

    /// A description without the signature.
    package var description: String { "a user auth answer" }

    /// The failure if the answer names no user; `nil` if it has a user id that is a non-empty string.
    var failure: AuthFailure? {
        guard let id = JSON.object(userData)?["id"] as? String, !id.isEmpty else {
            return AuthFailure("the user_data in its answer has no id", kind: .unusable)
        }
        return nil
    }
}
