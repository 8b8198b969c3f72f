import Foundation

extension PydioPublicLink {
    /// Returns the links in an answer to `load_shared_element_data`; `nil` if it is not such an answer.
    ///
    /// From version 7 on, the answer is one object, with `links` by name. Before, it is an object for the requested
    /// link, or the first one; or a list of links of the oldest kind, which are not workspaces.
    static func list(in json: Any?) -> [PydioPublicLink]? {
        if let list = json as? [Any] {
            var links: [PydioPublicLink] = []
            for share in list {
                guard let share = share as? [String: Any], let found = self.list(in: share) else { return nil }
                links += found
            }
            return links
        }
        guard let share = json as? [String: Any] else { return nil }
        if share.isEmpty { return [] }
        // PHP writes an empty object as a list.
        if let links = share["links"] as? [Any] {
            return links.compactMap { ($0 as? [String: Any]).flatMap { PydioPublicLink(link: $0, of: share) } }
        }
        if let links = share["links"] as? [String: Any] {
            return links.sorted { $0.key < $1.key }.compactMap {
                ($0.value as? [String: Any]).flatMap { PydioPublicLink(link: $0, of: share) }
            }
        }
        if let minisite = share["minisite"] as? [String: Any] {
            return PydioPublicLink(minisite: minisite, of: share).map { [$0] }
        }
        if share["element_id"] != nil { return PydioPublicLink(publiclet: share).map { [$0] } }
        // A folder that is only shared with users.
        return share["repositoryId"] == nil ? nil : []
    }

    private init?(link: [String: Any], of share: [String: Any]) {
        guard let id = link["hash"] as? String, !id.isEmpty else { return nil }
        self.init(
            id, address: link["public_link"], of: share, settings: link, isOfVersion7: true,
            allowsDownload: JSONNumber.flag(link["disable_download"]) != true,
            guest: link["internal_user_id"] as? String)
    }

    private init?(minisite: [String: Any], of share: [String: Any]) {
        guard let id = minisite["hash"] as? String, !id.isEmpty else { return nil }
        let guests = Self.entries(of: share).filter { $0["TYPE"] as? String == "tmp_user" }
        self.init(
            id, address: minisite["public_link"], of: share, settings: share, isOfVersion7: false,
            allowsDownload: JSONNumber.flag(minisite["disable_download"]) != true,
            // With several users it is unknown which one is for visitors.
            guest: guests.count == 1 ? guests[0]["ID"] as? String : nil)
    }

    private init?(publiclet: [String: Any]) {
        guard let id = publiclet["element_id"] as? String, !id.isEmpty else { return nil }
        self.init(
            id, address: publiclet["publiclet_link"], of: publiclet, settings: publiclet, isOfVersion7: false,
            allowsDownload: true, guest: nil)
    }

    private init(
        _ id: String, address: Any?, of share: [String: Any], settings: [String: Any], isOfVersion7: Bool,
        allowsDownload: Bool, guest: String?
    ) {
        linkId = id
        url = (address as? String).flatMap { AnswerRecogniser<URL>.webAddress($0) }
        label = share["label"] as? String
        hasPassword = JSONNumber.flag(settings["has_password"]) ?? false
        self.allowsDownload = allowsDownload
        // Without an expiry, there is no time, and 0 days.
        let expires = settings["expire_time"].map { JSONNumber.integer($0) != 0 } ?? false
        expirationDays = expires ? JSONNumber.integer(settings["expire_after"]).flatMap { Int(exactly: $0) } : nil
        downloadLimit = JSONNumber.integer(settings["download_limit"]).flatMap { $0 > 0 ? Int(exactly: $0) : nil }
        downloadCount = JSONNumber.integer(settings["download_counter"]).flatMap { Int(exactly: $0) }
        isExpired = JSONNumber.flag(settings["is_expired"]) ?? false
        self.isOfVersion7 = isOfVersion7
        let workspace =
            (share["repositoryId"] as? String) ?? JSONNumber.integer(share["repositoryId"]).map { String($0) }
        if let workspace, let guest {
            let right = Self.entries(of: share).first { $0["ID"] as? String == guest }?["RIGHT"] as? String ?? "r"
            origin = Origin(
                workspaceId: workspace, guest: guest, description: share["description"] as? String ?? "",
                canRead: right.contains("r"), canWrite: right.contains("w"))
        } else {
            origin = nil
        }
    }

    /// Returns the other users of the share.
    private static func entries(of share: [String: Any]) -> [[String: Any]] {
        switch share["entries"] {
        case let list as [Any]: list.compactMap { $0 as? [String: Any] }
        case let object as [String: Any]: object.values.compactMap { $0 as? [String: Any] }
        case _: []
        }
    }
}

extension AnswerRecogniser where Value == [PydioPublicLink] {
    /// The public links of a node.
    package static let publicLinks = Self("the request for a node's public links") { body in
        guard body.document == nil, let json = body.json else { return .other }
        if let share = json as? [String: Any], JSONNumber.flag(share["error"]) == true {
            return .serverError(share["label"] as? String ?? "")
        }
        return PydioPublicLink.list(in: json).map { .value($0) } ?? .incomplete
    }
}
