import Testing

@testable import PydioProtocol

struct HTTPDateTests {
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Thu, 01-Jan-1970 00:00:01 GMT", 1), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
            ("Wed, 01 MAR 2023 00:00:00 GMT", 1_677_628_800),
            // Two-digit years below 70 belong to this century.
            ("Thu, 31-Jan-69 00:00:00 GMT", 3_126_816_000), ("Thu, 01-Jan-70 00:00:00 GMT", 0),
            ("Sat, 01-Jan-00 00:00:00 GMT", 946_684_800), ("Sun, 31-Dec-99 00:00:00 GMT", 946_598_400),
            ("Fri, 31 Dec 9999 23:59:60 GMT", 253_402_300_800),
        ])
    func datesAreRead(text: String, seconds: Int) {
        #expect(HTTPDate.seconds(text) == seconds)
    }

    @Test(arguments: [
        "", "never", "0", "Sun, 06 Nov 1994", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, x Nov 1994 08:49:37 GMT", "Sun, 06 Nov x 08:49:37 GMT",
        "Sun, 06 Nov 10000 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37:00 GMT",
        "Sun, 06 Nov 1994 08:61:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "06 Nov 1994 08:49:37 GMT",
    ])
    func whatIsNoneIsNotRead(text: String) {
        #expect(HTTPDate.seconds(text) == nil)
    }
}
