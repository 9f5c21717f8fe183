"""The database that holds a gradebook: opened by any number of processes, and changed as a whole or not at all."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from alembic.script import ScriptDirectory
from nbgrader import api
from nbgrader.api import (
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    InvalidEntry,
    SubmittedAssignment,
    SubmittedNotebook,
    app_log,
)
from sqlalchemy import Connection, Engine, Index, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from ..errors import GradebookAway, GradebookBusy, MayNotWrite, NoSpace
from ..files import beside_of, put_in_place
from ..strangers import log_of

log = log_of("autograder")
PATIENCE = 60.0  # seconds for which SQLite waits for a locked gradebook
WARN_AFTER = 3.0  # seconds
# nbgrader looks for the cells and marks of one notebook, and the work of one learner, by going through those of all. New gradebooks get these with their tables.
INDEXES = [
    Index("grade_by_notebook", Grade.__table__.c.notebook_id),
    Index("comment_by_notebook", Comment.__table__.c.notebook_id),
    Index("base_cell_by_notebook", BaseCell.__table__.c.notebook_id),
    Index("submitted_notebook_by_assignment", SubmittedNotebook.__table__.c.assignment_id),
    Index("submitted_assignment_by_student", SubmittedAssignment.__table__.c.student_id),
]


def put_commands_on_path() -> None:
    """Put the commands of this Python's environment on the path: `nbgrader db upgrade` calls alembic by name."""
    folder = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", "")
    if folder not in path.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([folder, path])


def read_schema_version_here() -> None:
    """Read the schema's version, for a new gradebook, in this process: nbgrader would start a program for it."""
    api.get_alembic_version = lambda: ScriptDirectory(str(Path(api.__file__).parent / "alembic")).get_current_head()


def wait_for_locks() -> None:
    """Let every gradebook that this process opens wait while another program holds it.

    Not by `?timeout=` in the URL: `nbgrader db upgrade` takes all of the URL for a file's name.
    """
    if not event.contains(Engine, "connect", _wait_when_locked):
        event.listen(Engine, "connect", _wait_when_locked)


def _wait_when_locked(connection, record) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.execute(f"pragma busy_timeout = {PATIENCE * 1000:.0f}")
        _, _, path = connection.execute("pragma database_list").fetchone()
        if path and os.path.getsize(path) == 0:
            _follow_umask(Path(path))  # it was made just now


def opened(url: str) -> Gradebook:
    """Return the gradebook at `url`, made if there is none; raises `GradebookBusy` or `NoSpace`."""
    read_schema_version_here()
    wait_for_locks()
    if make_url(url).get_backend_name() != "sqlite":
        with _errors_for_people(url):
            return Gradebook(url)
    with _errors_for_people(url):
        _make(Path(make_url(url).database or ""))
        with _warn_when_waiting(), _closed_unless_made():
            gradebook = Gradebook(url)
    # What is read for a change must stay as it is until the change is made, so the write lock is taken first.
    event.listen(gradebook.engine, "begin", _begin_immediate)
    return gradebook


def add_indexes(gradebook: Gradebook) -> None:
    """Give a gradebook that was made without them its indexes."""
    connection = gradebook.db.connection()
    for index in INDEXES:
        index.create(connection, checkfirst=True)


def _make(path: Path) -> None:
    """Make an empty gradebook where there is none. nbgrader makes one in many steps, and would
    take one that was left after the first steps for a finished one."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = beside_of(path)
    try:
        Gradebook(f"sqlite:///{beside}").close()
        _follow_umask(beside)
        put_in_place(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _follow_umask(path: Path) -> None:
    """Let others write a gradebook as they may write other new files: SQLite itself lets nobody else."""
    if path.stat().st_uid == os.geteuid():
        path.chmod(0o666 & ~_umask())


def _umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _begin_immediate(connection: Connection) -> None:
    with _warn_when_waiting():
        connection.exec_driver_sql("BEGIN IMMEDIATE")


@contextmanager
def _warn_when_waiting() -> Iterator[None]:
    """Log a warning when this takes long, because SQLite waits without one."""
    timer = Timer(WARN_AFTER, log.warning, ["The gradebook is in use by another program; waiting for up to %g seconds.", PATIENCE])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _closed_unless_made() -> Iterator[None]:
    """Close the connections of a gradebook whose making fails: nobody else has hold of them."""
    made: list[ConnectionPoolEntry] = []

    def note(connection, record: ConnectionPoolEntry) -> None:
        made.append(record)

    event.listen(Engine, "connect", note)
    try:
        yield
    except BaseException:
        for record in made:
            record.close()
        raise
    finally:
        event.remove(Engine, "connect", note)


@contextmanager
def _errors_for_people(url: str) -> Iterator[None]:
    """Raise a database's errors about being locked, full or out of reach as errors for people."""
    try:
        yield
    except (OperationalError, InvalidEntry) as error:
        path = make_url(url).database or ""
        if make_url(url).get_backend_name() != "sqlite":
            raise GradebookAway(make_url(url).render_as_string(hide_password=True), str(getattr(error, "orig", error))) from error
        if "readonly database" in str(error) or "unable to open database file" in str(error):
            raise MayNotWrite(Path(path)) from error
        if "database is locked" in str(error):
            raise GradebookBusy(path) from error
        if "database or disk is full" in str(error):
            raise NoSpace(Path(path)) from error
        raise


@contextmanager
def whole(gradebook: Gradebook) -> Iterator[None]:
    """Make what is done inside one transaction: all of it is entered, or nothing.

    nbgrader's functions commit at each step. Here they join our transaction,
    and their commits only write the rows into it.
    """
    session, engine = gradebook.db, gradebook.engine
    with _errors_for_people(str(engine.url)), _quiet(), engine.connect() as connection:
        transaction = connection.begin()
        session.remove()
        session.configure(bind=connection, join_transaction_mode="rollback_only")
        try:
            yield
            session.flush()
            with _warn_when_waiting():  # readers too can keep a commit waiting
                transaction.commit()
        finally:
            session.remove()
            session.configure(bind=engine, join_transaction_mode="conditional_savepoint")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep nbgrader from printing a traceback for each error, since the errors reach us anyway."""
    before, app_log.disabled = app_log.disabled, True
    try:
        yield
    finally:
        app_log.disabled = before
