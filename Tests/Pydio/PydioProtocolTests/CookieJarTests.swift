import Basics
import Foundation
import PydioProtocol
import TestSupport
import Testing
import Transport

struct CookieJarTests {
    private static let noon = 1_700_000_000

    private func jar(
        _ fields: String..., server: String = "http://h/pydio/", now: MonotonicInstant = .start
    ) throws -> CookieJar {
        var jar = CookieJar()
        let address = try ServerAddress(#require(URL(string: server)))
        var head = HTTPFields()
        for field in fields { head.append(name: "set-cookie", value: field) }
        jar.take(head, from: address, now: now, seconds: Self.noon)
        return jar
    }

    @Test func aSessionsCookieIsSentBack() throws {
        let jar = try jar("AjaXplorer=abc; path=/; HttpOnly", "a = b ;Path=/pydio")
        #expect(jar.field(now: .start) == "AjaXplorer=abc; a=b")
    }

    @Test func aNewIdReplacesTheOldOne() throws {
        #expect(try jar("AjaXplorer=1; path=/", "AjaXplorer=2; path=/").field(now: .start) == "AjaXplorer=2")
    }

    @Test(arguments: [
        "AjaXplorer=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0", "AjaXplorer=x; max-age=-1",
        "AjaXplorer=x; Expires=Sun, 06 Nov 1994 08:49:37 GMT",
    ])
    func anEndedCookieDeletesTheOther(field: String) throws {
        #expect(try jar("AjaXplorer=1; path=/", field).field(now: .start) == nil)
    }

    @Test func cookiesEndInTime() throws {
        let jar = try jar("a=1; Max-Age=60", "b=1; expires=Tue, 14-Nov-2023 22:14:20 GMT", "c=1")
        #expect(jar.field(now: .start + .seconds(59)) == "a=1; b=1; c=1")
        #expect(jar.field(now: .start + .seconds(60)) == "c=1")
    }

    @Test(arguments: [
        "a=1; domain=other.example", "a=1; path=/elsewhere", "a=1; path=/pyd", "a=1; secure", "=1", "a", "a b=1",
        "a=1\u{7F}", "a=1; domain=x.h",
    ])
    func cookiesForOthersAreNotTaken(field: String) throws {
        #expect(try jar(field).field(now: .start) == nil)
    }

    @Test func cookiesForTheServerAreTaken() throws {
        #expect(
            try jar("a=1; domain=.example.org; path=/pydio/; secure", server: "https://files.example.org/pydio/")
                .field(now: .start) == "a=1")
    }

    @Test func theyAreBounded() throws {
        #expect(try jar("a=" + String(repeating: "x", count: 5000)).field(now: .start) == nil)
        var jar = CookieJar()
        let address = try ServerAddress(#require(URL(string: "http://h")))
        for number in 0..<100 {
            jar.take(["Set-Cookie": "c\(number)=1"], from: address, now: .start, seconds: Self.noon)
        }
        #expect(jar.cookies(now: .start).count == 50)
    }

    @Test func keptCookiesAreTakenIfTheyAreSome() {
        var jar = CookieJar()
        for (name, value) in [
            ("", "1"), ("a b", "1"), ("a", "1;2"), ("a", "\n"), ("a", String(repeating: "x", count: 4096)),
        ] {
            jar.add(PydioCookie(name: name, value: value))
        }
        #expect(jar.field(now: .start) == nil)
        jar.add(PydioCookie(name: "a", value: String(repeating: "x", count: 4095)))
        jar.add(PydioCookie(name: "a", value: "1"))
        jar.add(PydioCookie(name: "b", value: ""))
        #expect(jar.field(now: .start + .seconds(1_000_000)) == "a=1; b=")
        jar.removeAll()
        #expect(jar.field(now: .start) == nil)
    }

    @Test func aFullJarTakesNewValues_butNoMoreNames() throws {
        var jar = CookieJar()
        let address = try ServerAddress(#require(URL(string: "http://h")))
        for number in 0..<50 { jar.add(PydioCookie(name: "c\(number)", value: "1")) }
        #expect(jar.cookies(now: .start).count == 50)
        jar.add(PydioCookie(name: "other", value: "1"))
        jar.take(["Set-Cookie": "other=1"], from: address, now: .start, seconds: Self.noon)
        #expect(!jar.cookies(now: .start).contains { $0.name == "other" })
        jar.take(["Set-Cookie": "c7=2"], from: address, now: .start, seconds: Self.noon)
        jar.add(PydioCookie(name: "c8", value: "2"))
        #expect(jar.cookies(now: .start).count == 50)
        #expect(jar.cookies(now: .start).filter { $0.value == "2" }.map(\.name) == ["c7", "c8"])
    }

    @Test func aLifeIsBoundedByTenYears() throws {
        let jar = try jar("a=1; Max-Age=99999999999", "b=1; Max-Age=x", "c=1; expires=never")
        let years = 10 * 365 * 86_400
        #expect(jar.field(now: .start + .seconds(years - 1)) == "a=1; b=1; c=1")
        #expect(jar.field(now: .start + .seconds(years)) == "b=1; c=1")
    }

    @Test func valuesAreNotShown() throws {
        let jar = try jar("AjaXplorer=topsecret")
        #expect(!String(reflecting: jar).contains("topsecret"))
        #expect(!String(reflecting: jar.cookies(now: .start)).contains("topsecret"))
    }
}
