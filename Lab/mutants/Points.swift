// Finds the places of Swift sources where a small mutation can be switched on, and writes one line of JSON for each.
// Built against the parser that comes with the compiler:  Points SOURCE…
import Foundation
import SwiftOperators
import SwiftParser
import SwiftSyntax

/// A place in a file and what is put around it. `mutant(#)` in the prefix is where its number belongs: while that is not
/// the active one, the code does what it did.
struct Point: Encodable {
    let file: String
    let line: Int
    /// In bytes.
    let start: Int
    let end: Int
    /// The declarations around it, outermost first.
    let scope: String
    let kind: Kind
    let before: String
    let after: String
    let prefix: String
    let suffix: String

    enum Kind: String, Encodable {
        case bound, condition, literal, logic, extreme
        case statement = "statement left out"
        case branch = "branch left out"
        case guarded = "guard left out"
        case cases = "case swapped"
    }
}

final class PointFinder: SyntaxAnyVisitor {
    private let file: String
    private let lines: SourceLocationConverter
    private var scope: [String] = []
    private(set) var points: [Point] = []

    init(file: String, tree: some SyntaxProtocol) {
        self.file = file
        lines = SourceLocationConverter(fileName: file, tree: tree)
        super.init(viewMode: .sourceAccurate)
    }

    override func visitAny(_ node: Syntax) -> SyntaxVisitorContinueKind {
        if isOutOfReach(node) { return .skipChildren }
        if let name = scopeName(node) { scope.append(name) }
        switch node.as(SyntaxEnum.self) {
        case .infixOperatorExpr(let infix): mutate(infix)
        case .conditionElement(let element): mutate(element)
        case .ternaryExpr(let ternary): negate(ternary.condition, kind: .cases)
        case .prefixOperatorExpr(let prefix): mutate(prefix)
        case .booleanLiteralExpr(let literal):
            // Without it, what comes after `while true` would have to return something.
            if let element = literal.parent?.as(ConditionElementSyntax.self), isInLoop(element) { break }
            let text = literal.trimmedDescription
            wrap(literal, .literal, after: text == "true" ? "false" : "true", "(mutant(#) != ", ")")
        case .integerLiteralExpr(let literal): mutate(literal)
        case .functionCallExpr(let call): swapExtreme(call)
        case .ifExpr(let branch):
            wrap(
                branch.conditions, .branch, before: "if \(oneLine(branch.conditions)) { … }", after: "left out",
                "!mutant(#), ", "")
        case .codeBlockItem(let item): leaveOut(item)
        case .switchCaseList(let cases): swapNeighbours(cases)
        default: break
        }
        return .visitChildren
    }

    override func visitAnyPost(_ node: Syntax) {
        if !isOutOfReach(node), scopeName(node) != nil { scope.removeLast() }
    }

    // MARK: - What is left alone

    /// Code whose mutation says nothing of the tests: traps, hashes (any are right), capacities, patterns and types.
    private func isOutOfReach(_ node: Syntax) -> Bool {
        switch node.as(SyntaxEnum.self) {
        case .functionCallExpr(let call):
            let name = call.calledExpression.trimmedDescription
            return ["precondition", "preconditionFailure", "fatalError", "assert", "assertionFailure"].contains(name)
                || name.hasSuffix("reserveCapacity") || name.hasSuffix("hasher.combine")
        case .functionDecl(let function): return function.name.text == "hash"
        case .attribute, .switchCaseLabel, .enumCaseElement, .stringLiteralExpr, .macroExpansionExpr, .ifConfigDecl:
            return true
        default:
            return node.is(TypeSyntax.self) || node.is(PatternSyntax.self)
        }
    }

    private func scopeName(_ node: Syntax) -> String? {
        switch node.as(SyntaxEnum.self) {
        case .structDecl(let type): type.name.text
        case .classDecl(let type): type.name.text
        case .enumDecl(let type): type.name.text
        case .protocolDecl(let type): type.name.text
        case .extensionDecl(let type): type.extendedType.trimmedDescription
        case .functionDecl(let function): function.name.text
        case .initializerDecl: "init"
        case .deinitializerDecl: "deinit"
        case .subscriptDecl: "subscript"
        case .variableDecl(let variable):
            // Without the local ones.
            variable.parent?.is(MemberBlockItemSyntax.self) == true
                ? variable.bindings.first?.pattern.trimmedDescription : nil
        default: nil
        }
    }

    // MARK: - Mutations

    private func mutate(_ infix: InfixOperatorExprSyntax) {
        let name = infix.operator.trimmedDescription
        switch name {
        case "<", "<=", ">", ">=":
            let other = ["<": "<=", "<=": "<", ">": ">=", ">=": ">"][name] ?? name
            replaceOperator(infix, by: other, .bound)
        case "&&": replaceOperator(infix, by: "||", .logic)
        case "||": replaceOperator(infix, by: "&&", .logic)
        case "==", "!=":
            let after = "\(oneLine(infix.leftOperand)) \(name == "==" ? "!=" : "==") \(oneLine(infix.rightOperand))"
            wrap(infix, .condition, after: after, "(mutant(#) != (", "))")
        default: break
        }
    }

    private func mutate(_ element: ConditionElementSyntax) {
        guard case .expression(let condition) = element.condition, !isInLoop(element) else { return }
        negate(condition, kind: .condition)
        if element.parent?.parent?.is(GuardStmtSyntax.self) == true {
            wrap(condition, .guarded, before: "guard \(oneLine(condition))", after: "left out", "(mutant(#) || (", "))")
        }
    }

    /// A negated loop runs for ever or never; other mutations of its condition say more.
    private func isInLoop(_ element: ConditionElementSyntax) -> Bool {
        element.parent?.parent?.is(WhileStmtSyntax.self) == true
    }

    private func negate(_ condition: ExprSyntax, kind: Point.Kind) {
        // Negated by another operator already.
        if let infix = condition.as(InfixOperatorExprSyntax.self),
            ["==", "!="].contains(infix.operator.trimmedDescription)
        {
            return
        }
        wrap(condition, kind, after: "!(\(oneLine(condition)))", "(mutant(#) != (", "))")
    }

    private func mutate(_ prefix: PrefixOperatorExprSyntax) {
        guard prefix.operator.text == "!", prefix.parent?.is(ConditionElementSyntax.self) != true,
            prefix.parent?.is(TernaryExprSyntax.self) != true
        else { return }
        wrap(prefix, .condition, after: oneLine(prefix.expression), "(mutant(#) != (", "))")
    }

    private func mutate(_ literal: IntegerLiteralExprSyntax) {
        guard let value = literal.representedLiteralValue, !isCrowded(literal) else { return }
        let isAllOnes = value > 1 && value & (value + 1) == 0
        let after = isAllOnes || (value > 1 && value % 2 == 1) ? value - 1 : value + 1
        wrap(literal, .literal, after: "\(after)", "(mutant(#) ? \(after) : ", ")")
    }

    /// A literal among so many others that the compiler would take long.
    private func isCrowded(_ literal: IntegerLiteralExprSyntax) -> Bool {
        var operators = 0
        var node = Syntax(literal)
        while let parent = node.parent {
            if let elements = parent.as(ArrayElementListSyntax.self), elements.count > 8 { return true }
            if parent.is(InfixOperatorExprSyntax.self) { operators += 1 }
            if parent.is(CodeBlockItemSyntax.self) { break }
            node = parent
        }
        return operators > 3
    }

    private func swapExtreme(_ call: FunctionCallExprSyntax) {
        let name = call.calledExpression.trimmedDescription
        guard let other = ["min": "max", "max": "min"][name] else { return }
        let after = other + oneLine(call).dropFirst(name.count)
        wrap(call, .extreme, after: after, "(mutant(#) ? (\(after)) : (", "))")
    }

    private func leaveOut(_ item: CodeBlockItemSyntax) {
        guard let expression = item.item.as(ExprSyntax.self), !isValue(item) else { return }
        var inner = expression
        while true {
            if let marked = inner.as(TryExprSyntax.self) {
                inner = marked.expression
            } else if let marked = inner.as(AwaitExprSyntax.self) {
                inner = marked.expression
            } else {
                break
            }
        }
        if let call = inner.as(FunctionCallExprSyntax.self) {
            guard !isOutOfReach(Syntax(call)), !["super.init", "self.init"].contains(oneLine(call.calledExpression))
            else { return }
        } else if let infix = inner.as(InfixOperatorExprSyntax.self) {
            let name = infix.operator.trimmedDescription
            guard name.hasSuffix("="), !["==", "!=", "<=", ">="].contains(name) else { return }
            if name == "=", isFirstValue(infix.leftOperand, in: item) { return }
        } else {
            return
        }
        wrap(expression, .statement, after: "left out", "if !mutant(#) { ", " }")
    }

    /// Whether this statement is the value of what it stands in.
    private func isValue(_ item: CodeBlockItemSyntax) -> Bool {
        guard let list = item.parent?.as(CodeBlockItemListSyntax.self), list.count == 1 else { return false }
        var node = Syntax(list)
        while let parent = node.parent {
            switch parent.as(SyntaxEnum.self) {
            case .functionDecl(let function): return function.signature.returnClause != nil
            case .closureExpr, .accessorBlock, .subscriptDecl, .variableDecl: return true
            case .accessorDecl(let accessor): return accessor.accessorSpecifier.text == "get"
            case .initializerDecl, .deinitializerDecl, .guardStmt, .forStmt, .whileStmt, .doStmt, .deferStmt:
                return false
            case .codeBlockItemList(let list) where list.count > 1: return false
            default: node = parent
            }
        }
        return false
    }

    /// Whether an assignment may be the one that gives a constant or a property its first value.
    private func isFirstValue(_ target: ExprSyntax, in item: CodeBlockItemSyntax) -> Bool {
        var name = target.trimmedDescription
        var node = Syntax(item)
        if name == "_" { return true }
        if name.hasPrefix("self.") { name.removeFirst("self.".count) }
        let isProperty = !name.contains(".") && !name.contains("[")
        while let parent = node.parent {
            if parent.is(InitializerDeclSyntax.self) { return isProperty }
            if let list = parent.as(CodeBlockItemListSyntax.self),
                list.contains(where: { declares(name, $0) })
            {
                return true
            }
            if parent.is(FunctionDeclSyntax.self) { return false }
            node = parent
        }
        return false
    }

    /// Whether a statement declares a name without a value.
    private func declares(_ name: String, _ item: CodeBlockItemSyntax) -> Bool {
        guard let variable = item.item.as(VariableDeclSyntax.self) else { return false }
        return variable.bindings.contains {
            $0.initializer == nil && $0.accessorBlock == nil && $0.pattern.trimmedDescription == name
        }
    }

    /// Two neighbours in a switch that each give one value: the first gives that of the second.
    private func swapNeighbours(_ list: SwitchCaseListSyntax) {
        let values = list.map { $0.as(SwitchCaseSyntax.self).flatMap(value(of:)) }
        for (first, second) in zip(values, values.dropFirst()) {
            guard let first, let second, oneLine(first) != oneLine(second), isShort(second) else { continue }
            wrap(first, .cases, after: oneLine(second), "(mutant(#) ? (\(oneLine(second))) : (", "))")
        }
    }

    private func value(of branch: SwitchCaseSyntax) -> ExprSyntax? {
        guard branch.statements.count == 1, let item = branch.statements.first,
            !branch.label.description.contains("let ")
        else { return nil }
        if let value = item.item.as(StmtSyntax.self)?.as(ReturnStmtSyntax.self)?.expression { return value }
        guard let expression = item.item.as(ExprSyntax.self), !expression.is(TryExprSyntax.self),
            !expression.is(IfExprSyntax.self), !expression.is(SwitchExprSyntax.self)
        else { return nil }
        if let infix = expression.as(InfixOperatorExprSyntax.self), infix.operator.is(AssignmentExprSyntax.self) {
            return nil
        }
        return expression
    }

    // MARK: - Text

    private func replaceOperator(_ infix: InfixOperatorExprSyntax, by other: String, _ kind: Point.Kind) {
        guard isShort(infix) else { return }
        let after = "\(oneLine(infix.leftOperand)) \(other) \(oneLine(infix.rightOperand))"
        wrap(infix, kind, after: after, "(mutant(#) ? (\(after)) : (", "))")
    }

    /// What is said twice is said briefly: it is checked twice by the compiler.
    private func isShort(_ node: some SyntaxProtocol) -> Bool {
        let text = node.trimmedDescription
        return text.utf8.count <= 160 && !text.contains("{") && !text.contains("//")
    }

    private func oneLine(_ node: some SyntaxProtocol) -> String {
        node.trimmedDescription.split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
    }

    private func wrap(
        _ node: some SyntaxProtocol, _ kind: Point.Kind, before: String? = nil, after: String, _ prefix: String,
        _ suffix: String
    ) {
        let start = node.positionAfterSkippingLeadingTrivia
        points.append(
            Point(
                file: file, line: lines.location(for: start).line, start: start.utf8Offset,
                end: node.endPositionBeforeTrailingTrivia.utf8Offset, scope: scope.joined(separator: "."), kind: kind,
                before: before ?? oneLine(node), after: after, prefix: prefix, suffix: suffix))
    }
}

@main
enum Points {
    static func main() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for file in CommandLine.arguments.dropFirst() {
            let source = try String(contentsOfFile: file, encoding: .utf8)
            let tree = OperatorTable.standardOperators.foldAll(Parser.parse(source: source)) { _ in }
            let finder = PointFinder(file: file, tree: tree)
            finder.walk(tree)
            for point in finder.points {
                print(String(decoding: try encoder.encode(point), as: UTF8.self))
            }
        }
    }
}
