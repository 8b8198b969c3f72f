import CLinux

/// The system's default routes, read from rtnetlink messages (rtnetlink(7)).
struct RouteTable {
    enum News: Hashable {
        case nothing
        /// A link, address or route changed: time for a refresh.
        case somethingChanged
        /// A refresh is complete. Nil: the ways out are the same, or it was the first.
        case refreshed(NetworkMonitor.Change?)
    }

    /// A way out: a default route of the main table.
    private struct Route: Hashable {
        let bytes: [UInt8]
    }

    private var known: Set<Route>?
    private var coming: Set<Route> = []
    private static let dumpSequence: UInt32 = 7

    /// `RTM_GETROUTE` for all families.
    static var dumpRequest: [UInt8] {
        var header = nlmsghdr()
        header.nlmsg_len = UInt32(headerSize + MemoryLayout<rtmsg>.size)
        header.nlmsg_type = UInt16(RTM_GETROUTE)
        header.nlmsg_flags = UInt16(NLM_F_REQUEST | NLM_F_DUMP)
        header.nlmsg_seq = dumpSequence
        return withUnsafeBytes(of: header) { Array($0) } + [UInt8](repeating: 0, count: MemoryLayout<rtmsg>.size)
    }

    private static let headerSize = MemoryLayout<nlmsghdr>.size

    mutating func beginRefresh() {
        coming = []
    }

    /// Takes the messages of one read.
    mutating func read(_ bytes: UnsafeRawBufferPointer) -> News {
        var news = News.nothing
        var offset = 0
        while bytes.count - offset >= Self.headerSize {
            let header = bytes.loadUnaligned(fromByteOffset: offset, as: nlmsghdr.self)
            let length = Int(header.nlmsg_len)
            guard length >= Self.headerSize, length <= bytes.count - offset else { break }
            let body = UnsafeRawBufferPointer(rebasing: bytes[offset + Self.headerSize..<offset + length])
            switch Int(header.nlmsg_type) {
            case Int(NLMSG_DONE) where header.nlmsg_seq == Self.dumpSequence:
                news = .refreshed(finishRefresh())
            case Int(NLMSG_ERROR) where header.nlmsg_seq == Self.dumpSequence:
                news = .refreshed(nil)  // refused: what was known stays
            case Int(RTM_NEWROUTE) where header.nlmsg_seq == Self.dumpSequence:
                if let route = Self.defaultRoute(body) { coming.insert(route) }
            case Int(RTM_NEWROUTE), Int(RTM_DELROUTE), Int(RTM_NEWLINK), Int(RTM_DELLINK), Int(RTM_NEWADDR),
                Int(RTM_DELADDR):
                if news == .nothing { news = .somethingChanged }
            default: break
            }
            offset += (length + 3) & ~3
        }
        return news
    }

    private mutating func finishRefresh() -> NetworkMonitor.Change? {
        defer { known = coming }
        guard let known, known != coming else { return nil }
        if coming.isEmpty { return .lost }
        return known.isEmpty ? .returned : .changed
    }

    /// The route's identity (interface and gateway), if it is a default route over a link that is up.
    private static func defaultRoute(_ body: UnsafeRawBufferPointer) -> Route? {
        guard body.count >= MemoryLayout<rtmsg>.size else { return nil }
        let message = body.loadUnaligned(as: rtmsg.self)
        guard message.rtm_dst_len == 0, Int(message.rtm_type) == 1, Int(message.rtm_table) == 254,  // unicast, main
            message.rtm_flags & UInt32(RTNH_F_DEAD | RTNH_F_LINKDOWN) == 0
        else { return nil }
        var identity: [UInt8] = [message.rtm_family]
        var offset = MemoryLayout<rtmsg>.size
        while body.count - offset >= MemoryLayout<rtattr>.size {
            let attribute = body.loadUnaligned(fromByteOffset: offset, as: rtattr.self)
            let length = Int(attribute.rta_len)
            guard length >= MemoryLayout<rtattr>.size, length <= body.count - offset else { break }
            if [4, 5].contains(attribute.rta_type) {  // RTA_OIF, RTA_GATEWAY
                identity += body[offset..<offset + length]
            }
            offset += (length + 3) & ~3
        }
        return Route(bytes: identity)
    }
}
