import CLinux

/// The system's default routes and their source addresses, read from rtnetlink messages (rtnetlink(7)).
struct RouteTable {
    enum News: Hashable {
        case nothing
        /// A link, address or route changed: refresh.
        case somethingChanged
        /// The routes are complete: send ``addressRequest``.
        case routesRead
        /// A refresh is complete. Nil if the default routes are unchanged, or if it was the first one.
        case refreshed(NetworkMonitor.Change?)
    }

    /// The interface and family that a route uses and an address belongs to.
    private struct Use: Hashable {
        let interface: UInt32
        let family: UInt8
    }

    /// A default route of the main table.
    private struct Route: Hashable {
        let use: Use
        let gateway: [UInt8]
        /// A connection dies with its source address, even if the route stays.
        var addresses: Set<[UInt8]> = []
    }

    private var known: Set<Route>?
    private var comingRoutes: [Route] = []
    private var comingAddresses: [Use: Set<[UInt8]>] = [:]
    private static let routeSequence: UInt32 = 7
    private static let addressSequence: UInt32 = 8

    /// `RTM_GETROUTE` for all families.
    static var routeRequest: [UInt8] {
        request(Int(RTM_GETROUTE), sequence: routeSequence, bodySize: MemoryLayout<rtmsg>.size)
    }

    /// `RTM_GETADDR` for all families.
    static var addressRequest: [UInt8] {
        request(Int(RTM_GETADDR), sequence: addressSequence, bodySize: MemoryLayout<ifaddrmsg>.size)
    }

    private static func request(_ type: Int, sequence: UInt32, bodySize: Int) -> [UInt8] {
        var header = nlmsghdr()
        header.nlmsg_len = UInt32(headerSize + bodySize)
        header.nlmsg_type = UInt16(type)
        header.nlmsg_flags = UInt16(NLM_F_REQUEST | NLM_F_DUMP)
        header.nlmsg_seq = sequence
        return withUnsafeBytes(of: header) { Array($0) } + [UInt8](repeating: 0, count: bodySize)
    }

    private static let headerSize = MemoryLayout<nlmsghdr>.size

    mutating func beginRefresh() {
        comingRoutes = []
        comingAddresses = [:]
    }

    mutating func read(_ bytes: UnsafeRawBufferPointer) -> News {
        var news = News.nothing
        var offset = 0
        while bytes.count - offset >= Self.headerSize {
            let header = bytes.loadUnaligned(fromByteOffset: offset, as: nlmsghdr.self)
            let length = Int(header.nlmsg_len)
            guard length >= Self.headerSize, length <= bytes.count - offset else { break }
            let body = UnsafeRawBufferPointer(rebasing: bytes[offset + Self.headerSize..<offset + length])
            switch (Int(header.nlmsg_type), header.nlmsg_seq) {
            case (Int(NLMSG_DONE), Self.routeSequence):
                news = .routesRead
            case (Int(NLMSG_DONE), Self.addressSequence):
                news = .refreshed(finishRefresh())
            case (Int(NLMSG_ERROR), Self.routeSequence), (Int(NLMSG_ERROR), Self.addressSequence):
                news = .refreshed(nil)  // refused: keep the known state
            case (Int(RTM_NEWROUTE), Self.routeSequence):
                if let route = Self.defaultRoute(body) { comingRoutes.append(route) }
            case (Int(RTM_NEWADDR), Self.addressSequence):
                if let (use, address) = Self.globalAddress(body) { comingAddresses[use, default: []].insert(address) }
            case (Int(RTM_NEWROUTE), _), (Int(RTM_DELROUTE), _), (Int(RTM_NEWLINK), _), (Int(RTM_DELLINK), _),
                (Int(RTM_NEWADDR), _), (Int(RTM_DELADDR), _):
                if news == .nothing { news = .somethingChanged }
            default: break
            }
            offset += (length + 3) & ~3
        }
        return news
    }

    private mutating func finishRefresh() -> NetworkMonitor.Change? {
        let coming = Set(
            comingRoutes.map { route in
                var route = route
                route.addresses = comingAddresses[route.use] ?? []
                return route
            })
        defer { known = coming }
        guard let known, known != coming else { return nil }
        if coming.isEmpty { return .lost }
        return known.isEmpty ? .returned : .changed
    }

    /// Parses a default route over a link that is up.
    private static func defaultRoute(_ body: UnsafeRawBufferPointer) -> Route? {
        guard body.count >= MemoryLayout<rtmsg>.size else { return nil }
        let message = body.loadUnaligned(as: rtmsg.self)
        guard message.rtm_dst_len == 0, Int(message.rtm_type) == 1, Int(message.rtm_table) == 254,  // unicast, main
            message.rtm_flags & UInt32(RTNH_F_DEAD | RTNH_F_LINKDOWN) == 0
        else { return nil }
        var interface: UInt32 = 0
        var gateway: [UInt8] = []
        forEachAttribute(of: body, after: MemoryLayout<rtmsg>.size) { type, value in
            switch type {
            case 4 where value.count >= 4: interface = value.loadUnaligned(as: UInt32.self)  // RTA_OIF
            case 5: gateway = Array(value)  // RTA_GATEWAY
            default: break
            }
        }
        return Route(use: Use(interface: interface, family: message.rtm_family), gateway: gateway)
    }

    /// Parses an address with a scope beyond its link.
    private static func globalAddress(_ body: UnsafeRawBufferPointer) -> (Use, [UInt8])? {
        guard body.count >= MemoryLayout<ifaddrmsg>.size else { return nil }
        let message = body.loadUnaligned(as: ifaddrmsg.self)
        guard message.ifa_scope == 0 else { return nil }  // RT_SCOPE_UNIVERSE
        var address: [UInt8] = []
        forEachAttribute(of: body, after: MemoryLayout<ifaddrmsg>.size) { type, value in
            // IFA_ADDRESS, IFA_LOCAL: on a point-to-point link the first is the peer's.
            if type == 1 || type == 2 { address += value }
        }
        return (Use(interface: message.ifa_index, family: message.ifa_family), address)
    }

    private static func forEachAttribute(
        of body: UnsafeRawBufferPointer, after start: Int, _ take: (UInt16, UnsafeRawBufferPointer) -> Void
    ) {
        let headerSize = MemoryLayout<rtattr>.size
        var offset = start
        while body.count - offset >= headerSize {
            let attribute = body.loadUnaligned(fromByteOffset: offset, as: rtattr.self)
            let length = Int(attribute.rta_len)
            guard length >= headerSize, length <= body.count - offset else { return }
            take(attribute.rta_type, UnsafeRawBufferPointer(rebasing: body[offset + headerSize..<offset + length]))
            offset += (length + 3) & ~3
        }
    }
}
