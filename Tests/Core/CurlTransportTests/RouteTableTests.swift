import CLinux
import Testing

@testable import CurlTransport

/// Messages as the kernel sends them (rtnetlink(7)), and their meaning.
struct RouteTableTests {
    private func message(_ type: Int, sequence: UInt32, _ body: [UInt8] = []) -> [UInt8] {
        var header = nlmsghdr()
        header.nlmsg_len = UInt32(MemoryLayout<nlmsghdr>.size + body.count)
        header.nlmsg_type = UInt16(type)
        header.nlmsg_seq = sequence
        return withUnsafeBytes(of: header) { Array($0) } + body
    }

    /// A default route of the main table over interface `interface`.
    private func route(_ interface: UInt8, prefix: UInt8 = 0, flags: UInt32 = 0) -> [UInt8] {
        var body = rtmsg()
        body.rtm_flags = flags
        (body.rtm_family, body.rtm_dst_len, body.rtm_table, body.rtm_type) = (2, prefix, 254, 1)
        return withUnsafeBytes(of: body) { Array($0) } + [8, 0, 4, 0, interface, 0, 0, 0]
    }

    /// The address 10.0.0.`last` of `interface`.
    private func address(_ last: UInt8, of interface: UInt32, family: UInt8 = 2, scope: Int = 0) -> [UInt8] {
        var body = ifaddrmsg()
        (body.ifa_family, body.ifa_index, body.ifa_scope) = (family, interface, UInt8(scope))
        return withUnsafeBytes(of: body) { Array($0) } + [8, 0, 2, 0, 10, 0, 0, last]
    }

    private func read(_ bytes: [UInt8], into table: inout RouteTable) -> RouteTable.News {
        bytes.withUnsafeBytes { table.read($0) }
    }

    /// Applies whole answers to the table's two queries.
    private func refresh(
        _ table: inout RouteTable, _ routes: [[UInt8]], _ addresses: [[UInt8]] = []
    ) -> RouteTable.News {
        table.beginRefresh()
        let answer =
            routes.flatMap { message(Int(RTM_NEWROUTE), sequence: 7, $0) } + message(Int(NLMSG_DONE), sequence: 7)
        #expect(read(answer, into: &table) == .routesRead)
        return read(
            addresses.flatMap { message(Int(RTM_NEWADDR), sequence: 8, $0) } + message(Int(NLMSG_DONE), sequence: 8),
            into: &table)
    }

    @Test func onlyTransitionsAreNews() {
        var table = RouteTable()
        #expect(refresh(&table, [route(2)]) == .refreshed(nil))
        #expect(refresh(&table, [route(2), route(2, prefix: 24)]) == .refreshed(nil))
        #expect(refresh(&table, []) == .refreshed(.lost))
        #expect(refresh(&table, []) == .refreshed(nil))
        #expect(refresh(&table, [route(3)]) == .refreshed(.returned))
        #expect(refresh(&table, [route(4)]) == .refreshed(.changed))
    }

    @Test func anotherAddressIsAnotherWayOut() {
        var table = RouteTable()
        #expect(refresh(&table, [route(2)], [address(1, of: 2)]) == .refreshed(nil))
        #expect(refresh(&table, [route(2)], [address(1, of: 2)]) == .refreshed(nil))
        #expect(refresh(&table, [route(2)], [address(5, of: 2)]) == .refreshed(.changed))
        #expect(refresh(&table, [], []) == .refreshed(.lost))
    }

    @Test func addressesThatTheWayOutDoesNotUseAreNoNews() {
        var table = RouteTable()
        #expect(refresh(&table, [route(2)], [address(1, of: 2)]) == .refreshed(nil))
        let others = [address(9, of: 3), address(9, of: 2, family: 10), address(9, of: 2, scope: 253)]
        #expect(refresh(&table, [route(2)], [address(1, of: 2)] + others) == .refreshed(nil))
    }

    @Test func aMachineWithoutNetworkHasLostNothing() {
        var table = RouteTable()
        #expect(refresh(&table, []) == .refreshed(nil))
    }

    @Test func aRouteOverADeadLinkIsNoWayOut() {
        var table = RouteTable()
        #expect(refresh(&table, [route(2)]) == .refreshed(nil))
        #expect(refresh(&table, [route(2, flags: UInt32(RTNH_F_LINKDOWN))]) == .refreshed(.lost))
        #expect(refresh(&table, [route(2)]) == .refreshed(.returned))
    }

    @Test func aRefusedQuestionIsNoNews() {
        var table = RouteTable()
        #expect(refresh(&table, [route(2)]) == .refreshed(nil))
        table.beginRefresh()
        let refusal = message(Int(NLMSG_ERROR), sequence: 7, [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(read(refusal, into: &table) == .refreshed(nil))
        #expect(refresh(&table, [route(2)]) == .refreshed(nil))
        #expect(refresh(&table, []) == .refreshed(.lost))
    }

    @Test(arguments: [RTM_NEWROUTE, RTM_DELROUTE, RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_DELADDR].map { Int($0) })
    func anyChangeAsksForARefresh(type: Int) {
        var table = RouteTable()
        let bytes = message(type, sequence: 0, route(2))
        #expect(read(bytes, into: &table) == .somethingChanged)
    }

    @Test func brokenMessagesAreHarmless() {
        var table = RouteTable()
        let whole = message(Int(RTM_NEWROUTE), sequence: 7, route(2))
        for count in 0..<whole.count {
            #expect(read(Array(whole.prefix(count)), into: &table) == .nothing)
        }
        var long = whole
        long[0] = 255
        #expect(read(long, into: &table) == .nothing)
    }
}
