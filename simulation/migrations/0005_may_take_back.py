from typing import Any

from django.db import migrations, models


def note_who_was_away(apps: Any, schema_editor: Any) -> None:
    """Of the stand-ins of before it is known only whether they are what the rule for absence would have brought."""
    apps.get_model("simulation", "Seat").objects.filter(driver=models.F("absence")).update(may_take_back=True)


class Migration(migrations.Migration):
    dependencies = [
        ("simulation", "0004_own_pause"),
    ]

    operations = [
        migrations.AddField(
            model_name="seat",
            name="may_take_back",
            field=models.BooleanField(
                default=False,
                help_text="whether whoever holds the link may end the stand-in: their absence brought it",
            ),
        ),
        migrations.RunPython(note_who_was_away, migrations.RunPython.noop),
    ]
