"""The receipt format: what putting a plan in force did, with the plan itself inside.

``penstock apply`` leaves receipts in the history's folder, where no Spark is needed; the pipeline
takes them into its tables later.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from penstock.change.diff import ComponentChange
from penstock.change.history import Receipt, TopologyReceipt
from penstock.errors import Finding, InputError
from penstock.files.document import ParsedFile, document_of, read_document
from penstock.files.plan_file import plan_from, plan_to_dict
from penstock.files.schema import FileModel, Name, Strict, Version, check_file
from penstock.files.writer import to_json, write_text

#: Below the history's folder.
RECEIPTS = "receipts"
Number = Annotated[int, Field(ge=0)]
#: Seconds since 1970, up to the year 2200.
Moment = Annotated[float, Field(ge=0, le=7_258_118_400, allow_inf_nan=False)]
PlanId = Annotated[str, Field(pattern=r"^[0-9a-f]{4,64}$")]


class MovedFields(Strict):
    """An instance that went from one machine to another."""

    from_: str = Field(alias="from", description="Machine it left.")
    to: str = Field(description="Machine it went to.")


class ChangeFields(Strict):
    """What happened to the instances of a component."""

    topology: Name
    component: Name
    before: Number
    after: Number
    moves: list[MovedFields] = Field(default_factory=list)
    added: list[str] = Field(default_factory=list, description="Machines of new instances.")
    dropped: list[str] = Field(default_factory=list, description="Machines of ended ones.")
    shares_changed: bool = False

    def value(self) -> ComponentChange:
        return ComponentChange(
            self.topology,
            self.component,
            self.before,
            self.after,
            tuple((move.from_, move.to) for move in self.moves),
            tuple(self.added),
            tuple(self.dropped),
            self.shares_changed,
        )


class ReceiptTopologyFields(Strict):
    """What a topology went through."""

    topology: Name
    run: str = Field("", description="The engine's name for this very submission.")
    executors: dict[Name, Number] = Field(
        default_factory=dict, description="New numbers of executors, where they changed."
    )
    workers_restarted: Number = 0
    workers: Number = 0
    placed_after_s: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Seconds until the placement was the plan's."
    )

    def value(self) -> TopologyReceipt:
        return TopologyReceipt(**self.model_dump())


class ReceiptFile(FileModel):
    """What putting a plan in force did."""

    format: Literal["penstock/receipt"]
    version: Version[Literal[1]]
    plan: PlanId = Field(description="First digits of the plan file's SHA-256.")
    engine: Name = "storm"
    outcome: Literal["begun", "applied", "rolled back", "not rolled back"] = Field(
        description="`begun`: the command was killed half-way."
    )
    began_s: Moment = Field(description="Seconds since 1970, UTC.")
    ended_s: Moment = Field(description="Seconds since 1970, UTC.")
    plan_file: str = Field("", description="Where the engine reads plans.")
    backup: str = Field("", description="Where the plan file from before is.")
    moves: Number = 0
    topologies: list[ReceiptTopologyFields] = Field(default_factory=list)
    changes: list[ChangeFields] = Field(default_factory=list)
    trouble: list[str] = Field(default_factory=list, description="What did not go as planned.")
    document: dict[str, Any] | None = Field(
        None, description="The plan itself, as its file says it; in the history's receipts."
    )


def receipt_from(document: ParsedFile) -> Receipt:
    """The receipt in a document, with the plan that it is about."""
    document, file, findings = check_file(document, ReceiptFile)
    if file is None:
        raise InputError(*findings)
    if file.document is None:
        message = "has no plan inside; receipts that have one are in the history's folder"
        raise InputError(document.finding(("document",), message))
    if file.ended_s < file.began_s:
        raise InputError(document.finding(("ended_s",), "is before began_s"))
    return Receipt(
        plan_id=file.plan,
        plan=plan_from(document_of(file.document, f"{document.name} document")),
        engine=file.engine,
        began_s=file.began_s,
        ended_s=file.ended_s,
        outcome=file.outcome,
        steps=tuple(step.value() for step in file.topologies),
        changes=tuple(change.value() for change in file.changes),
        plan_file=file.plan_file,
        backup=file.backup,
        trouble=tuple(file.trouble),
    )


def receipt_to_dict(receipt: Receipt) -> dict[str, object]:
    """A receipt as its file says it, without the plan."""
    return {
        **ReceiptFile.FORMAT.head,
        "plan": receipt.plan_id,
        "engine": receipt.engine,
        "outcome": receipt.outcome,
        "began_s": receipt.began_s,
        "ended_s": receipt.ended_s,
        "plan_file": receipt.plan_file,
        "backup": receipt.backup,
        "moves": receipt.moves,
        "topologies": [
            {
                "topology": step.topology,
                "run": step.run,
                "executors": dict(step.executors),
                "workers_restarted": step.workers_restarted,
                "workers": step.workers,
                "placed_after_s": step.placed_after_s,
            }
            for step in receipt.steps
        ],
        "changes": [change.to_dict() for change in receipt.changes],
        "trouble": list(receipt.trouble),
    }


def keep_receipt(history: Path, receipt: Receipt) -> Path:
    """Write a receipt into the history; one of the same plan and moment is replaced."""
    path = history / RECEIPTS / f"{receipt.id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, to_json(receipt_to_dict(receipt) | {"document": plan_to_dict(receipt.plan)}))
    return path


def read_receipts(history: Path) -> tuple[list[tuple[Receipt, str]], list[Finding]]:
    """All receipts in a history with their text, oldest first, and what is wrong with others."""
    receipts: dict[str, tuple[Receipt, str]] = {}
    findings: list[Finding] = []
    for path in _files(history / RECEIPTS):
        try:
            receipt = receipt_from(read_document(path))
            receipts[receipt.id] = (receipt, path.read_text(encoding="utf-8"))
        except InputError as error:
            findings += error.findings[:3]
        except OSError as error:
            findings.append(Finding(f"cannot be read: {error.strerror or error}", str(path)))
    return [receipts[key] for key in sorted(receipts)], findings


def _files(folder: Path) -> Iterable[Path]:
    """Receipts; what begins with a dot is being written."""
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.glob("*.json") if not p.name.startswith("."))
